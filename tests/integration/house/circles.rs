//! No two files import each other, by whatever detour.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::source::{self, SourceFile};

type Module = Vec<String>;

/// The modules of a crate, what each gives on under its own name, and what each names.
struct Graph<'a> {
    files: BTreeMap<Module, &'a SourceFile>,
    /// By module: a name that it gets from elsewhere, and from where.
    imported: BTreeMap<Module, Vec<(String, Vec<String>)>>,
}

/// Paths in the code of a file that are not in a `use`, and those of private ones.
struct Named<'a> {
    module: &'a [String],
    found: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // What is only given on ties nothing: the one who names it is tied to where it is defined.
        if matches!(item.vis, syn::Visibility::Inherited) {
            self.found.extend(source::uses(&item.tree).into_iter().map(|(path, _)| path));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.found.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }
}

impl<'a> Graph<'a> {
    fn new(files: &'a [SourceFile]) -> Self {
        let by_module: BTreeMap<Module, &SourceFile> = files
            .iter()
            .filter(|file| !file.path.ends_with("/main.rs"))
            .map(|file| (file.module.clone(), file))
            .collect();
        let imported = files.iter().map(|file| {
            let uses = file.syntax.items.iter().filter_map(|item| match item {
                syn::Item::Use(item) => Some(source::uses(&item.tree)),
                _ => None,
            });
            (file.module.clone(), uses.flatten().map(|(path, name)| (name, path)).collect())
        });
        Self { files: by_module, imported: imported.collect() }
    }

    /// The path from the root of the crate; `None` for what is of another crate or only of this file.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let (_, parent) = module.split_last()?;
                let again = [&["self".to_owned()][..], rest].concat();
                if rest.first().is_some_and(|next| next == "super") {
                    self.absolute(parent, rest)
                } else {
                    self.absolute(parent, &again)
                }
            }
            name => {
                let child = [module, &[name.to_owned()]].concat();
                if self.files.contains_key(&child) {
                    return Some([&child[..], rest].concat());
                }
                // A module that was imported under this name.
                let names = self.imported.get(module)?;
                let (_, from) = names.iter().find(|(known, from)| known == name && from != path)?;
                let from = self.absolute(module, from)?;
                self.files.contains_key(&from).then(|| [&from[..], rest].concat())
            }
        }
    }

    /// The module in which a path from the root is defined.
    fn defined(&self, path: &[String], depth: usize) -> Option<Module> {
        let at = (0..=path.len()).rev().find(|at| self.files.contains_key(&path[..*at]))?;
        let (module, rest) = path.split_at(at);
        let Some(name) = rest.first().filter(|name| *name != "*") else { return Some(module.to_vec()) };
        let given_on = self.imported.get(module).into_iter().flatten().find(|(known, _)| known == name);
        if let Some((_, from)) = given_on.filter(|_| depth < 8)
            && let Some(from) = self.absolute(module, from)
            && from != path
        {
            return self.defined(&from, depth + 1);
        }
        Some(module.to_vec())
    }

    fn arrows(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (module, file) in &self.files {
            let mut named = Named { module, found: Vec::new() };
            named.visit_file(&file.syntax);
            for path in &named.found {
                let target = self.absolute(named.module, path).and_then(|path| self.defined(&path, 0));
                // A module is put together from its children, and the root from all modules: that ties nobody to the parent.
                if let Some(target) = target.filter(|target| !target.starts_with(module) && !target.is_empty()) {
                    arrows.entry(file.path.as_str()).or_default().insert(self.files[&target].path.as_str());
                }
            }
        }
        arrows
    }
}

/// Files that reach each other, each group once.
fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached = |from: &'a str| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&str> = arrows.get(from).into_iter().flatten().copied().collect();
        while let Some(file) = next.pop() {
            if seen.insert(file) {
                next.extend(arrows.get(file).into_iter().flatten());
            }
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = arrows.keys().map(|file| (*file, reached(file))).collect();
    let group = |(file, reached): (&&'a str, &BTreeSet<&'a str>)| -> Option<BTreeSet<&'a str>> {
        reached.contains(file).then(|| {
            let back = |other: &&str| all.get(other).is_some_and(|reached| reached.contains(file));
            reached.iter().copied().filter(back).collect()
        })
    };
    all.iter().filter_map(group).collect()
}

#[test]
fn no_files_import_each_other() {
    let mut found = BTreeMap::new();
    for files in source::crates() {
        let graph = Graph::new(&files);
        let arrows = graph.arrows();
        assert!(arrows.len() > 20, "{} files import others", arrows.len());
        for circle in circles(&arrows) {
            for file in &circle {
                let to: Vec<&str> = arrows[file].iter().copied().filter(|other| circle.contains(other)).collect();
                found.insert((*file).to_owned(), to.into_iter().map(|to| format!("imports {to}")).collect::<Vec<_>>());
            }
        }
    }
    super::assert_listed("circles", &found, "these files import each other; move what both need to a third");
}

#[test]
fn a_circle_is_seen_through_a_third_file() {
    let arrows =
        BTreeMap::from([("a", BTreeSet::from(["b"])), ("b", BTreeSet::from(["c", "d"])), ("c", BTreeSet::from(["a"]))]);
    assert_eq!(circles(&arrows), BTreeSet::from([BTreeSet::from(["a", "b", "c"])]));
}
