//! The Rust files of the crates, parsed, without their tests.

use std::path::{Path, PathBuf};

use syn::visit_mut::VisitMut;

/// A source file of a crate.
pub(super) struct SourceFile {
    /// Path from the root of the repository.
    pub(super) path: String,
    /// Its module, from the root of the crate: empty for `lib.rs`.
    pub(super) module: Vec<String>,
    /// Its items, without tests.
    pub(super) syntax: syn::File,
}

/// The files of the main crate and of the engine, each crate by itself.
pub(super) fn crates() -> [Vec<SourceFile>; 2] {
    ["src", "engine/src"].map(|folder| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut paths = Vec::new();
        collect(&root, &mut paths);
        paths.sort();
        let read = |path: &PathBuf| read(folder, &root, path);
        let files: Vec<SourceFile> = paths.iter().map(read).collect();
        assert!(files.len() > 20, "{folder} has {} files", files.len());
        files
    })
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // The inputs of unit tests.
        if path.file_stem().is_some_and(|name| name == "testing") {
            continue;
        }
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn read(folder: &str, root: &Path, path: &Path) -> SourceFile {
    let text = std::fs::read_to_string(path).unwrap();
    let mut syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    WithoutTests.visit_file_mut(&mut syntax);
    let below = path.strip_prefix(root).unwrap().with_extension("");
    let names = below.iter().map(|name| name.to_str().unwrap().to_owned());
    let module = names.filter(|name| !matches!(name.as_str(), "lib" | "main" | "mod")).collect();
    SourceFile { path: format!("{folder}/{}", path.strip_prefix(root).unwrap().display()), module, syntax }
}

struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.items.retain(|item| !is_test(item));
        syn::visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !is_test(item));
        }
        syn::visit_mut::visit_item_mod_mut(self, module);
    }
}

fn is_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

/// Paths that a `use` names, with the name that each gets here; `*` for all names of a module.
pub(super) fn uses(tree: &syn::UseTree) -> Vec<(Vec<String>, String)> {
    fn walk(tree: &syn::UseTree, prefix: &[String], found: &mut Vec<(Vec<String>, String)>) {
        let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => walk(&path.tree, &with(&path.ident), found),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, prefix, found)),
            syn::UseTree::Glob(_) => found.push(([prefix, &["*".to_owned()]].concat(), "*".to_owned())),
            syn::UseTree::Rename(rename) => found.push((with(&rename.ident), rename.rename.to_string())),
            syn::UseTree::Name(name) if name.ident == "self" => {
                found.push((prefix.to_vec(), prefix.last().cloned().unwrap_or_default()));
            }
            syn::UseTree::Name(name) => found.push((with(&name.ident), name.ident.to_string())),
        }
    }
    let mut found = Vec::new();
    walk(tree, &[], &mut found);
    found
}
