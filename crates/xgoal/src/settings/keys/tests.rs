use super::*;
use crate::settings::{Activation, Preset};

#[test]
fn every_preset_survives_a_round_trip() {
    for name in Preset::CHOICES {
        let settings = Preset::parse(name).unwrap().settings();
        let text = toml::to_string(&settings.to_table()).unwrap();
        let mut back = Preset::Amazon.settings();
        back.layers = None;
        back.read_toml(&text).unwrap();
        assert_eq!(back, settings, "{name}");
    }
}

#[test]
fn text_values_are_understood() {
    let mut s = Settings::default();
    s.set("layers", "PLP").unwrap();
    assert_eq!(s.layers, Some(vec!["PLP".to_string()]));
    s.set("layers", "PLP, PAP").unwrap();
    assert_eq!(s.layers.as_ref().map(Vec::len), Some(2));
    s.set("tau", "0.02,1").unwrap();
    assert_eq!(s.tau, PerLayer::Each(vec![0.02, 1.0]));
    s.set("warmup", "off").unwrap();
    assert!(!s.warmup);
    s.set("activation", "relu").unwrap();
    assert_eq!(s.activation, Activation::Relu);
}

#[test]
fn every_differing_key_is_named_with_both_values() {
    let one = Settings::default();
    let mut other = one.clone();
    assert_eq!(one.difference(&other), None);
    other.set("dim", "7").unwrap();
    other.set("tau", "0.5,1").unwrap();
    other.set("layers", "a").unwrap();
    let expected = format!(
        "`layers` was not set, now [\"a\"]; `dim` was {}, now 7; `tau` was {}, now [0.5, 1.0]",
        one.dim,
        text_of(&one, "tau")
    );
    assert_eq!(one.difference(&other), Some(expected));
}

fn text_of(settings: &Settings, key: &str) -> String {
    settings.to_table()[key].to_string()
}

#[test]
fn mistakes_name_the_key_and_what_was_expected() {
    let mut s = Settings::default();
    let say = |r: Result<()>| r.unwrap_err().to_string();
    let unknown = say(s.set("tua", "1"));
    let near =
        "unknown setting `tua`; did you mean `tau`? The settings are method, layers, structure,";
    assert!(unknown.starts_with(near), "{unknown}");
    let far = say(s.set("colour", "1"));
    assert!(far.starts_with("unknown setting `colour`; the settings are method,"), "{far}");
    assert_eq!(
        say(s.set("activation", "gelu")),
        "setting `activation`: found \"gelu\", expected \"tanh\" or \"relu\""
    );
    assert!(say(s.set("dim", "-3")).contains("`dim`: found -3"));
    assert!(say(s.read_toml("dim = ")).contains("dim = "));
    assert!(say(s.set("dim", "x")).ends_with("expected a whole number from 1 to 65536"));
    assert!(
        say(s.set("layers", "[]")).ends_with("found [], expected a list of one layer name or more")
    );
}

#[test]
fn mistakes_in_a_file_name_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    let say = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let said = Settings::default().read_file(&path).unwrap_err().to_string();
        said.replace(path.to_str().unwrap(), "c.toml")
    };
    for (text, expected) in [
        (
            "# one\n\np_drop = 7\n",
            "setting `p_drop`: found 7 in c.toml (line 3), expected at least 0 and less than 1",
        ),
        (
            "dim = 0x10\r\nseed = 9223372036854775808\r\nlr = 0",
            "setting `seed`: found 9223372036854775808 in c.toml (line 2), expected a whole number from 0 to 2^63 - 1",
        ),
        (
            "lr = 1e999",
            "setting `lr`: found 1e999 in c.toml (line 1), expected a finite number above 0",
        ),
        (
            "tau = [\n1,\n0.0]",
            "setting `tau`: found 0 in c.toml (line 1), expected a finite number above 0",
        ),
        (
            "dim = \"x\"",
            "setting `dim`: found \"x\" in c.toml (line 1), expected a whole number from 1 to 65536",
        ),
        (
            "layers = []",
            "setting `layers`: found [] in c.toml (line 1), expected a list of one layer name or more",
        ),
    ] {
        assert_eq!(say(text), expected);
    }
    let unknown = say("dim = 3\np_dorp = 0.5");
    let start = "unknown setting `p_dorp` in c.toml (line 2); did you mean `p_drop`? The settings";
    assert!(unknown.starts_with(start), "{unknown}");
}
