//! Guards over types and strings: errors are types, types decide, and words are those of the field.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::Visit;

use super::source::{self, SourceFile};

/// Places that a guard finds in a file.
type Guard<'g> = dyn Fn(&SourceFile) -> Vec<String> + 'g;

/// Runs guards over every file of both crates, each with its advice.
fn assert_guards(guards: &[(&str, &Guard<'_>, &str)]) {
    let crates = source::crates();
    for (name, guard, advice) in guards {
        let files = crates.iter().flatten().map(|file| (file.path.clone(), guard(file)));
        let found: BTreeMap<String, Vec<String>> = files.filter(|(_, places)| !places.is_empty()).collect();
        super::assert_listed(name, &found, advice);
    }
}

/// Functions whose error is a `String`.
#[derive(Default)]
struct StringErrors(Vec<String>);

impl<'ast> Visit<'ast> for StringErrors {
    fn visit_return_type(&mut self, output: &'ast syn::ReturnType) {
        if let syn::ReturnType::Type(_, written) = output
            && let syn::Type::Path(path) = written.as_ref()
            && let Some(last) = path.path.segments.last().filter(|last| last.ident == "Result")
            && let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = arguments.args.iter().nth(1)
            && error.path.is_ident("String")
        {
            self.0.push(written.to_token_stream().to_string());
        }
        syn::visit::visit_return_type(self, output);
    }
}

fn string_errors(file: &SourceFile) -> Vec<String> {
    let mut guard = StringErrors::default();
    guard.visit_file(&file.syntax);
    guard.0
}

/// Fields and methods whose text is for people.
const FOR_PEOPLE: &[&str] = &["message", "reason", "title", "label", "describe", "summary", "advice"];
/// Methods that compare or split a text.
const COMPARES: &[&str] = &[
    "starts_with",
    "ends_with",
    "contains",
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "find",
    "eq_ignore_ascii_case",
];

/// Decisions by a text that is for people, or by the id of a rule.
struct Decides<'r> {
    rules: &'r [&'static str],
    found: Vec<String>,
}

impl Decides<'_> {
    fn is_for_people(expression: &syn::Expr) -> bool {
        match expression {
            syn::Expr::Field(field) => {
                matches!(&field.member, syn::Member::Named(name) if FOR_PEOPLE.iter().any(|known| name == known))
            }
            syn::Expr::MethodCall(call) => {
                FOR_PEOPLE.iter().any(|known| call.method == known)
                    || (matches!(call.method.to_string().as_str(), "as_str" | "as_deref" | "to_string" | "clone")
                        && Self::is_for_people(&call.receiver))
            }
            syn::Expr::Reference(inner) => Self::is_for_people(&inner.expr),
            syn::Expr::Paren(inner) => Self::is_for_people(&inner.expr),
            _ => false,
        }
    }
}

impl<'ast> Visit<'ast> for Decides<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if COMPARES.iter().any(|known| call.method == known) && Self::is_for_people(&call.receiver) {
            self.found.push(call.to_token_stream().to_string());
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let is_comparison = matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        // Whether two such texts are equal depends on no wording.
        if is_comparison && Self::is_for_people(&binary.left) != Self::is_for_people(&binary.right) {
            self.found.push(binary.to_token_stream().to_string());
        }
        syn::visit::visit_expr_binary(self, binary);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        if self.rules.contains(&literal.value().as_str()) {
            self.found.push(format!("{:?}", literal.value()));
        }
    }

    fn visit_macro(&mut self, one: &'ast syn::Macro) {
        for literal in literals(one.tokens.clone()) {
            if self.rules.contains(&literal.as_str()) {
                self.found.push(format!("{literal:?}"));
            }
        }
    }
}

/// Identities of findings that are made from text formatted for people.
#[derive(Default)]
struct Identities(Vec<String>);

impl<'ast> Visit<'ast> for Identities {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "with_respect_to" {
            self.look(&call.args.to_token_stream());
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if call.func.to_token_stream().to_string().starts_with("Cause ::") {
            self.look(&call.args.to_token_stream());
        }
        syn::visit::visit_expr_call(self, call);
    }
}

impl Identities {
    fn look(&mut self, tokens: &TokenStream) {
        let text = tokens.to_string();
        if ["format !", "severity", "text ::", ". describe", ":?"].iter().any(|bad| text.contains(bad)) {
            self.0.push(text);
        }
    }
}

#[test]
fn types_and_keys_decide() {
    let rules: Vec<&'static str> = tagaudit::internals::rules::RULES.iter().map(|rule| rule.id).collect();
    let decides = |file: &SourceFile| {
        let mut guard = Decides { rules: &rules, found: Vec::new() };
        let is_home_of_ids = file.path.starts_with("src/rules/") || file.path.starts_with("src/config");
        if !is_home_of_ids {
            guard.visit_file(&file.syntax);
        }
        guard.found
    };
    let identities = |file: &SourceFile| {
        let mut guard = Identities::default();
        guard.visit_file(&file.syntax);
        guard.0
    };
    assert_guards(&[
        ("string-error", &string_errors, "give the error a type of its own, so that callers can distinguish errors"),
        ("text-decides", &decides, "decide by types: a field of `Rule`, an enum or a variant of the error"),
        ("formatted-identity", &identities, "a fingerprint hashes keys, never severity or wording"),
    ]);
}

/// Words that a native reviewer sends back, with what the field says instead.
const WORDS: &[(&str, &str)] = &[
    (r"says?|said|saying", "reports, states, is set to"),
    (r"told|tells?", "reported, described"),
    (r"look(s|ed)? at", "inspects, checks"),
    (r"(is|are) no", "is not a, invalid"),
    (r"stands? (in|under|beside)", "is set in, appears in"),
    (r"of (its|their|your) own", "own, separate"),
    (r"beside", "next to, alongside"),
    (r"left out|leaves? out", "skipped, omitted"),
    (r"for a person", "for display"),
    (r"comes? (of|to)", "result"),
    (r"gone", "removed, deleted"),
    (r"taken for", "mistaken for"),
    (r"anew|made again", "again, re-created"),
    (r"reads? over", "ignores"),
    (r"in vain", "no longer found"),
    (r"known again", "identified"),
    (r"whoever", "anyone who"),
    (r"meant", "intended, selected"),
];

/// String literals and documentation of a file.
#[derive(Default)]
struct Strings {
    shown: Vec<String>,
    documented: Vec<String>,
}

fn literals(tokens: TokenStream) -> Vec<String> {
    let of = |tree: TokenTree| match tree {
        TokenTree::Group(group) => literals(group.stream()),
        TokenTree::Literal(literal) => {
            let parsed = syn::parse2::<syn::LitStr>(TokenTree::from(literal).into());
            parsed.map(|text| vec![text.value()]).unwrap_or_default()
        }
        TokenTree::Ident(_) | TokenTree::Punct(_) => Vec::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

impl<'ast> Visit<'ast> for Strings {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.shown.push(literal.value());
    }

    fn visit_macro(&mut self, one: &'ast syn::Macro) {
        self.shown.extend(literals(one.tokens.clone()));
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => {
                self.documented.extend(literals(pair.value.to_token_stream()));
            }
            // Why a lint is off is for those who read the code.
            syn::Meta::List(list) if list.path.is_ident("expect") => {}
            syn::Meta::List(list) => self.shown.extend(literals(list.tokens.clone())),
            syn::Meta::NameValue(_) | syn::Meta::Path(_) => {}
        }
    }
}

fn unwelcome(texts: &[String]) -> Vec<String> {
    static ALL: LazyLock<Vec<(regex::Regex, &str)>> = LazyLock::new(|| {
        let pattern = |word: &str| regex::Regex::new(&format!(r"(?i)\b({word})\b")).unwrap();
        WORDS.iter().map(|(word, instead)| (pattern(word), *instead)).collect()
    });
    let mut found = Vec::new();
    for text in texts {
        let text = text.replace("no longer", "").replace("no more than", "");
        for (word, instead) in ALL.iter() {
            // "There is no" is English.
            let is_plain = |at: &regex::Match<'_>| {
                text.get(..at.start()).is_some_and(|before| before.to_lowercase().ends_with("there "))
            };
            let places = word.find_iter(&text).filter(|at| !is_plain(at));
            found.extend(places.map(|at| format!("`{}` ({instead}) in {text:?}", at.as_str())));
        }
    }
    found
}

fn strings(file: &SourceFile) -> Strings {
    let mut strings = Strings::default();
    strings.visit_file(&file.syntax);
    strings
}

#[test]
fn strings_and_documentation_use_the_words_of_the_field() {
    assert_guards(&[
        ("message-words", &|file| unwelcome(&strings(file).shown), "use the words of the field"),
        ("doc-words", &|file| unwelcome(&strings(file).documented), "use the words of the field"),
    ]);
}

#[test]
fn an_unwelcome_word_is_found_in_messages_and_help() {
    let syntax: syn::File = syn::parse_quote! {
        /// Told by the controller.
        fn message() -> String {
            format!("`{}` is no name of a region", text("it is no longer used"))
        }
    };
    let file = SourceFile { path: "src/a.rs".to_owned(), module: vec!["a".to_owned()], syntax };
    let strings = strings(&file);
    assert_eq!(unwelcome(&strings.documented).len(), 1, "{:?}", strings.documented);
    assert_eq!(unwelcome(&strings.shown).len(), 1, "{:?}", strings.shown);
}
