"""What the documentation shows is what happens."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest
from conftest import ROOT

import xgoal

MODULES = ["xgoal", *(f"xgoal.{m.name}" for m in pkgutil.iter_modules(xgoal.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_every_public_thing_is_documented_with_an_example():
    for name in xgoal.__all__:
        thing = getattr(xgoal, name)
        if callable(thing) and not (isinstance(thing, type) and issubclass(thing, (tuple, Exception))):
            assert thing.__doc__ and (">>> " in thing.__doc__ or name == "from_pyg"), name


def blocks(path, language):
    text = (ROOT / path).read_text(encoding="utf-8")
    return [part.split("```")[0] for part in text.split(f"```{language}\n")[1:]]


def test_readme_shows_the_quickstart_as_it_is():
    assert (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8") in blocks("README.md", "python")


def test_the_quickstart_runs_without_warnings(tmp_path):
    script = ROOT / "examples" / "quickstart.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "X-GOAL: Macro-F1 0." in done.stdout


def test_the_package_page_runs(graph, tmp_path, monkeypatch):
    """The examples of docs/python.md, one after another."""
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    space = {}
    for block in blocks("docs/python.md", "python"):
        exec(compile(block, "docs/python.md", "exec"), space)


def test_the_notebook_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(ROOT / "examples" / "tour.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
    printed = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    assert printed
    for output in printed:
        assert output.output_type != "error"
        assert "Warning" not in output.get("text", "")


def test_importing_takes_nothing_that_is_optional():
    optional = ["sklearn", "torch", "torch_geometric", "pandas", "polars", "pyarrow", "networkx", "tqdm", "IPython"]
    script = f"import sys, xgoal; print([m for m in {optional} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
