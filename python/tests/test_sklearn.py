"""scikit-learn: its own checks of an estimator, clones, pipelines."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same_bits, small

import xgoal

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import Pipeline, make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402


def near(X):
    """A layer for rows that come without one: each joined to the four nearest."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        return {"near": np.zeros((len(X), len(X)))}
    order = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1, kind="stable")[:, :4]
    layer = np.zeros((len(X), len(X)))
    np.put_along_axis(layer, order, 1, axis=1)
    return {"near": layer}


class OnArrays(xgoal.XGOAL):
    """The estimator for the checks' arrays, which have no layers."""

    def fit(self, X, y=None):
        return super().fit(near(X), X if sp.issparse(X) else np.asarray(X))

    def fit_transform(self, X, y=None):
        return self.fit(X, y).embedding_

    def transform(self, X):
        self._check_fitted()
        return super().transform(near(X), X if sp.issparse(X) else np.asarray(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class AsItIs(xgoal.XGOAL):
    """The estimator itself, claiming to take arrays so that the checks run at all."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


# What no graph's estimator can meet, given arrays with layers made up for them.
NOT_MET = {
    "check_methods_subset_invariance": "a node's embedding depends on its neighbours: a part of the nodes is "
    "another graph",
    "check_methods_sample_order_invariance": "sums over neighbours run in the nodes' order, so another order "
    "gives the same only up to f32's rounding",
    "check_dtype_object": "an array of objects is refused, not converted",
    "check_estimators_empty_data_messages": "attributes without columns are refused, in other words",
}

# What the estimator meets as it is, without layers made up: everything that does not fit it to an array.
MET_AS_IT_IS = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_transformer_n_iter",
    "check_transformers_unfitted",
    "check_valid_tag_types",
}


def run_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_estimator(estimator, on_fail=None)


def test_scikit_learns_checks_are_met_but_for_those_listed():
    results = run_checks(OnArrays(dim=4, clusters=3, max_epochs=2, verbose=0))
    assert len(results) > 40
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed.keys() == NOT_MET.keys(), failed


def test_checks_that_need_no_fit_are_met_as_it_is():
    results = run_checks(AsItIs(verbose=0))
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert passed >= MET_AS_IT_IS


def test_it_says_itself_that_it_does_not_take_arrays():
    tags = small().__sklearn_tags__()
    assert not tags.input_tags.two_d_array and tags.input_tags.dict


def test_clones_have_the_parameters_and_nothing_else(graph, fitted):
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params() and not hasattr(twin, "embedding_")
    assert same_bits(twin.fit_transform(graph), fitted.embedding_)


def test_a_pipeline_around_transform(graph, fitted):
    pipeline = make_pipeline(small(), StandardScaler(), LogisticRegression())
    pipeline.fit(graph, graph.y)
    assert pipeline.predict(graph).shape == (graph.nodes,)
    assert same_bits(pipeline[0].embedding_, fitted.embedding_)
    assert pipeline.set_params(xgoal__dim=4)[0].dim == 4
    with_names = Pipeline([("embed", small()), ("scale", StandardScaler())]).fit(graph)
    assert list(with_names[:1].get_feature_names_out())[:2] == ["xgoal0", "xgoal1"]
    assert "XGOAL" in pipeline._repr_html_()


def test_scikit_learns_own_exception_catches_ours(graph):
    model = small()
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.transform(graph)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(graph))
