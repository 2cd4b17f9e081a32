//! The manifest's text, as what it says.

use super::section::{Section, line_of, wrong};
use crate::error::ParseError;
use std::path::{Component, Path, PathBuf};
use toml::de::DeTable;

type Parsed<T> = Result<T, ParseError>;

/// What a `graph.toml` says; files are relative to it and not looked at yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manifest {
    pub nodes: Nodes,
    pub features: Vec<Features>,
    pub layers: Vec<LayerSpec>,
    pub labels: Option<Column>,
    pub splits: Option<Column>,
}

/// The node table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Nodes {
    pub file: PathBuf,
    pub id: String,
}

/// One block of attributes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Features {
    pub name: String,
    pub matrix: PathBuf,
}

/// One relation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayerSpec {
    pub name: String,
    pub matrix: PathBuf,
}

/// A column of the node table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub column: String,
}

impl Manifest {
    pub(super) fn parse(text: &str) -> Parsed<Self> {
        let table = DeTable::parse(text).map_err(|e| {
            let line = e.span().map_or(1, |span| line_of(text, span.start));
            wrong(line, &format!("not valid TOML: {}", e.message()))
        })?;
        let mut document = Section::document(text, &table);
        let nodes = document.table("nodes")?.ok_or_else(|| {
            wrong(
                1,
                "no [nodes]; expected a table with the `file` of the nodes and its `id` column",
            )
        })?;
        let features = document.tables("features")?;
        let layers = document.tables("layers")?;
        let labels = document.table("labels")?;
        let splits = document.table("splits")?;
        document.close()?;
        let manifest = Self {
            nodes: Nodes::parse(nodes)?,
            features: features
                .into_iter()
                .enumerate()
                .map(|(i, section)| Features::parse(section, i))
                .collect::<Parsed<_>>()?,
            layers: layers.into_iter().map(LayerSpec::parse).collect::<Parsed<_>>()?,
            labels: labels.map(Column::parse).transpose()?,
            splits: splits.map(Column::parse).transpose()?,
        };
        Ok(manifest)
    }
}

impl Nodes {
    fn parse(mut section: Section<'_>) -> Parsed<Self> {
        let file = file(&mut section, "file", "nodes.csv")?;
        let id = section.required("id", "id")?;
        section.close()?;
        Ok(Self { file, id })
    }
}

impl Features {
    fn parse(mut section: Section<'_>, number: usize) -> Parsed<Self> {
        let name = section.string("name")?.unwrap_or_else(|| format!("features {}", number + 1));
        let matrix = file(&mut section, "matrix", "features.npz")?;
        section.close()?;
        Ok(Self { name, matrix })
    }
}

impl LayerSpec {
    fn parse(mut section: Section<'_>) -> Parsed<Self> {
        let name = section.required("name", "cites")?;
        let matrix = file(&mut section, "matrix", "cites.npz")?;
        section.close()?;
        Ok(Self { name, matrix })
    }
}

impl Column {
    fn parse(mut section: Section<'_>) -> Parsed<Self> {
        let column = section.required("column", "class")?;
        section.close()?;
        Ok(Self { column })
    }
}

/// A file named by the manifest: below its folder, as a manifest may come from a stranger.
fn file(section: &mut Section<'_>, key: &'static str, example: &str) -> Parsed<PathBuf> {
    let text = section.required(key, example)?;
    let path = Path::new(&text);
    let inside = path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    // A drive or a backslash means something elsewhere than here.
    if !inside || text.is_empty() || text.contains(['\\', ':']) {
        return Err(section.wrong(&format!(
            "`{key}` is `{text}`; expected a file in the manifest's folder or below it"
        )));
    }
    Ok(path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n\n\
                        [[layers]]\nname = \"a\"\nmatrix = \"a.npz\"\n";

    fn refused(text: &str) -> String {
        Manifest::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_name_line_and_key() {
        Manifest::parse(GOOD).unwrap();
        assert_eq!(
            refused(&GOOD.replace("matrix", "matrx")),
            "line 5: [[layers]]: no `matrix`; expected matrix = \"cites.npz\""
        );
        assert_eq!(
            refused(&GOOD.replace("id = \"id\"", "id = \"id\"\nkey = 1")),
            "line 4: unknown key `key` in [nodes]; expected file, id"
        );
        assert_eq!(
            refused(&GOOD.replace("id = \"id\"", "id = 3")),
            "line 3: `id` in [nodes] is an integer; expected a string"
        );
        assert!(refused("[nodes\n").starts_with("line 1: not valid TOML: "));
        assert!(refused("[[layer]]\n").contains("line 1: no [nodes]"));
        assert!(refused(&format!("{GOOD}[layer]\n")).contains("unknown key `layer`"));
    }

    #[test]
    fn files_stay_below_the_manifest() {
        for bad in ["/etc/passwd", "../a.npz", "x/../../a.npz", "C:/a.npz", "..\\\\a.npz", ""] {
            let message = refused(&GOOD.replace("a.npz", bad));
            assert!(message.contains("in the manifest's folder or below"), "{message}");
        }
        Manifest::parse(&GOOD.replace("a.npz", "./matrices/a.npz")).unwrap();
    }
}
