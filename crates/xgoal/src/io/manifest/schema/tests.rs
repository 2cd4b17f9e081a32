use super::*;

const GOOD: &str = "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n\n\
                    [[layers]]\nname = \"a\"\nmatrix = \"a.npz\"\n";

fn refused(text: &str) -> String {
    Manifest::parse(text).unwrap_err().to_string()
}

fn with(more: &str) -> String {
    format!("{GOOD}\n{more}")
}

#[test]
fn mistakes_name_line_and_key() {
    Manifest::parse(GOOD).unwrap();
    assert_eq!(
        refused(&GOOD.replace("matrix", "matrx")),
        "line 5: [[layers]]: expected one of matrix, edges, path"
    );
    assert_eq!(
        refused(&GOOD.replace("id = \"id\"", "id = \"id\"\nkey = 1")),
        "line 4: unknown key `key` in [nodes]; expected file, id, on_unknown"
    );
    assert_eq!(
        refused(&GOOD.replace("id = \"id\"", "id = 3")),
        "line 3: `id` in [nodes] is an integer; expected a string"
    );
    assert!(refused("[nodes\n").starts_with("line 1: not valid TOML: "));
    assert!(refused("[[layer]]\n").contains("line 1: unknown key `layer`"));
    assert!(refused("[nodes]\nfile = \"n.csv\"\nid = \"i\"\n").contains("no [[layers]]"));
}

#[test]
fn files_stay_below_the_manifest() {
    for bad in ["/etc/passwd", "../a.npz", "x/../../a.npz", "C:/a.npz", "..\\\\a.npz", ""] {
        let message = refused(&GOOD.replace("a.npz", bad));
        assert!(message.contains("in the manifest's folder or below"), "{message}");
    }
    Manifest::parse(&GOOD.replace("a.npz", "./matrices/a.npz")).unwrap();
}

#[test]
fn features_are_of_one_kind_each() {
    let none = refused(&with("[[features]]\nname = \"x\"\n"));
    assert!(none.contains("expected one of matrix, triplets, numeric"), "{none}");
    let two = refused(&with("[[features]]\ntext = \"a\"\nnumeric = \"b\"\n"));
    assert!(two.contains("found numeric, text"), "{two}");
    let stray = refused(&with("[[features]]\nnumeric = [\"a\"]\nmin_df = 2\n"));
    assert!(stray.contains("unknown key `min_df`"), "{stray}");
    let list = refused(&with("[[features]]\nnumeric = [1]\n"));
    assert!(list.contains("is an integer; expected a string, or a list"), "{list}");
    let twice = refused(&with("[[features]]\ntext = \"a\"\n[[features]]\ncategorical = \"a\"\n"));
    assert!(twice.contains("line 11: two blocks of features are called `a`"), "{twice}");
    let share = refused(&with("[[features]]\ntext = \"a\"\nmax_df = 1.5\n"));
    assert!(share.contains("`max_df` in [[features]] is out of range"), "{share}");
}

#[test]
fn layers_are_of_one_kind_each() {
    let layer = |text: &str| GOOD.replace("matrix = \"a.npz\"", text);
    let path = "path = [{ file = \"w.csv\", from = \"p\", to = \"a\" }]\n";
    let Manifest { layers, .. } = Manifest::parse(&layer(&format!("{path}hub_cap = 9"))).unwrap();
    let layers::LayerSource::Path(spec) = &layers[0].source else { panic!("{layers:?}") };
    assert_eq!((spec.cap, spec.back, spec.steps.len()), (Some(9), true, 1));
    let wrong = refused(&layer("path = [{ file = \"w.csv\", form = \"p\", to = \"a\" }]"));
    assert!(wrong.contains("line 7: [[path]]: no `from`"), "{wrong}");
    let hubs = refused(&layer(&format!("{path}hubs = \"cut\"")));
    assert!(hubs.contains("is `cut`; expected \"sample\" or \"drop\""), "{hubs}");
    let cap = refused(&layer(&format!("{path}hub_cap = 0")));
    assert!(cap.contains("at least 1"), "{cap}");
    let both = refused(&layer(&format!("{path}edges = \"e.csv\"")));
    assert!(both.contains("expected one of matrix, edges, path"), "{both}");
    let comma = refused(&GOOD.replace("\"a\"\n", "\"a,b\"\n"));
    assert!(comma.contains("without commas"), "{comma}");
}

#[test]
fn columns_need_a_table() {
    let text = with("[labels]\ncolumn = \"class\"\n");
    Manifest::parse(&text).unwrap();
    let without = text.replace("[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n", "");
    let without =
        without.replace("matrix = \"a.npz\"", "edges = \"e.csv\"\nsource = \"a\"\ntarget = \"b\"");
    let message = refused(&without);
    assert!(message.contains("columns of the node table, but there is no [nodes]"), "{message}");
    Manifest::parse(&without.replace("column = ", "file = \"l.csv\"\nid = \"i\"\ncolumn = "))
        .unwrap();
}

#[test]
fn shares_of_a_split_leave_something_to_test() {
    Manifest::parse(&with("[splits]\ntrain = 0.5\nval = 0.25\nseed = 3\n")).unwrap();
    assert!(refused(&with("[splits]\ntrain = 0.9\n")).contains("leave some nodes to test"));
    assert!(refused(&with("[splits]\ntrain = 2\n")).contains("share from 0 to 1"));
}

#[test]
fn the_examples_in_the_documentation_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["docs/graph-toml.md", "docs/formats.md", "README.md"] {
        let Ok(text) = std::fs::read_to_string(root.join(page)) else {
            println!("skipped: no {page} beside this crate");
            continue;
        };
        let blocks: Vec<&str> = text.split("```toml\n").skip(1).collect();
        assert!(!blocks.is_empty(), "{page}");
        for block in blocks {
            let example = block.split("```").next().unwrap();
            Manifest::parse(example).unwrap_or_else(|e| panic!("{page}: {e}\n{example}"));
        }
    }
}

#[test]
fn a_column_stands_in_a_block_once() {
    let message = refused(&with("[[features]]\nnumeric = [\"a\", \"b\", \"a\"]\n"));
    assert!(message.contains("column `a` twice"), "{message}");
}
