use crate::common::{Sandbox, assert_says};

#[test]
fn pictures_in_both_forms() {
    let sandbox = Sandbox::with_run();
    let report = sandbox.xgoal(&["plot", "run", "graph.npz", "--json"]).done().json();
    assert_eq!(report["color"], "class");
    let files = ["curves.png", "curves.svg", "layers.png", "layers.svg", "map.png", "map.svg"];
    assert_eq!(sandbox.list("run/plots"), files);
    for name in ["curves", "layers", "map"] {
        let svg = sandbox.text(&format!("run/plots/{name}.svg"));
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.len() > 2000,
            "{name}"
        );
        let png = sandbox.read(&format!("run/plots/{name}.png"));
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
        let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
        assert!(width >= 1200, "{name} is {width} wide");
    }
    // Sixty dots, whatever their colours.
    let map = sandbox.text("run/plots/map.svg");
    assert_eq!(map.matches("h0").count(), 60);
}

#[test]
fn colours_are_those_of_a_column() {
    let sandbox = Sandbox::with_run();
    let args = ["plot", "run", "--color", "cluster", "--clusters", "4", "--out", "p", "--json"];
    assert_eq!(sandbox.xgoal(&args).done().json()["color"], "cluster");
    assert!(sandbox.text("p/map.svg").contains("cluster 3"));
    assert!(!sandbox.exists("p/layers.svg"));
    let wrong = sandbox.xgoal(&["plot", "run", "--color", "taste"]);
    assert_eq!(wrong.code, Some(2));
    assert_says(&wrong.stderr, &["--color taste", "cluster"]);
}
