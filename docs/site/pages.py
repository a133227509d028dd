"""python docs/site/pages.py TAGAUDIT FOLDER: the sources of the documentation site, as mdBook reads them, from the pages of this
repository and the rules of the binary: FOLDER/en and FOLDER/zh. docs/site/build builds both."""

import json
import os
import re
import shutil
import subprocess
import sys

tagaudit, out = sys.argv[1], os.path.realpath(sys.argv[2])
root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.chdir(root)

GUIDES = (
    ("Questions", ("docs/why.md", "docs/simulate.md", "docs/guard.md")),
    ("Use", ("docs/using.md", "docs/kubernetes.md", "docs/alibaba.md", "docs/fixing.md", "docs/many-accounts.md", "docs/offline.md",
             "docs/membership.md", "docs/configuration.md", "docs/formats.md", "docs/notify.md")),
    ("Permissions", ("docs/policy-engine.md", "docs/controllers.md", "docs/alibaba-versions.md")),
    ("Project", ("README.md", "docs/release.md", "docs/architecture.md", "docs/performance.md", "CONTRIBUTING.md", "STYLE.md",
                 "SECURITY.md", "CHANGELOG.md")),
)
START = ("rancher", "rke2", "k3s", "kops", "kubeadm", "cluster-api", "openshift", "eks", "ack")
CHINESE = ("docs/start.zh-CN.md", "docs/start/ack.zh-CN.md", "docs/using.zh-CN.md", "docs/alibaba.zh-CN.md", "README.zh-CN.md")


def output(*arguments):
    return subprocess.run([tagaudit, *arguments], capture_output=True, text=True, check=True).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def heading(text):
    return re.search(r"^# (.+)$", text, re.M).group(1)


def target(path):
    """Place of a page in the book."""
    name = path.removeprefix("docs/").replace(".zh-CN", "")
    return {"README.md": "about.md"}.get(name, name.lower() if "/" not in path else name)


class Book:
    def __init__(self, language, pages, others, rules):
        self.source = os.path.join(out, language, "src")
        self.language = language
        self.pages = {path: target(path) for path in pages}
        # Pages of the book in the other language.
        self.others = {path: target(path) for path in others}
        self.rules = rules

    def link(self, path, address):
        """An address in a page of the repository, as one of the book."""
        if "://" in address or address.startswith(("#", "mailto:")):
            return address
        file, _, anchor = address.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), file))
        here = os.path.dirname(self.pages[path])
        relative = lambda place: os.path.relpath(place, here or ".")
        anchor = f"#{anchor}" if anchor else ""
        rule = anchor.removeprefix("#")
        if file in ("docs/rules.md", "docs/rules.zh-CN.md"):
            is_here = (file == "docs/rules.md") == (self.language == "en")
            place = f"rules/{rule}" if rule else "rules"
            if is_here or rule in self.rules:
                return relative(place + ".md")
            return relative(("../" if self.language == "zh" else "zh/") + place + ".html")
        if file in self.pages:
            return relative(self.pages[file]) + anchor
        if file in self.others:
            prefix = "zh/" if self.language == "en" else "../"
            return relative(prefix + self.others[file].removesuffix(".md") + ".html") + anchor
        if not os.path.exists(file):
            sys.exit(f"error: {path} links to {address}, which does not exist")
        copy = os.path.join("files", file)
        place = os.path.join(self.source, copy)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.isdir(file):
            shutil.copytree(file, place, dirs_exist_ok=True)
        else:
            shutil.copyfile(file, place)
        return relative(copy)

    def linked(self, path, text):
        """A page of the repository with the links of the book."""
        return re.sub(r"\]\(([^()\s]+)\)", lambda found: f"]({self.link(path, found.group(1))})", text)

    def page(self, path):
        text = re.sub(r"<!--.*?-->\n?", "", read(path), flags=re.S)
        text = self.linked(path, text)
        text = re.sub(r'(src|href)="([^"]+)"', lambda found: f'{found.group(1)}="{self.link(path, found.group(2))}"', text)
        write(os.path.join(self.source, self.pages[path]), text)


def families(rules):
    """Rules by the first kind of resource that they are about."""
    found = {}
    for rule in rules:
        found.setdefault(rule["resources"][0], []).append(rule)
    return sorted(found.items())


def inert(text):
    """Text in which mdBook sees no markup."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("[", "\\[")


def name_of(rule, title_of):
    """The message that people search for, or what the rule finds."""
    return rule["messages"][0]["text"] if rule["messages"] else title_of(rule["id"])


def rule_pages(book, markdown, rules, title_of, words):
    """One page for each rule, under the message that people search for, and the page that lists them."""
    parts = dict(re.findall(r"^## (\S+)\n\n(.*?)(?=^## |\Z)", markdown, re.M | re.S))
    lines = []
    for rule in rules:
        text = book.linked(words["page"], parts[rule["id"]].strip())
        page = f"# {inert(name_of(rule, title_of))}\n\n{words['rule']} `{rule['id']}`\n\n{text}\n\n{words['explain']}\n"
        write(os.path.join(book.source, "rules", rule["id"] + ".md"), page)
        title = title_of(rule["id"]).replace("|", "\\|")
        lines.append(f"| [`{rule['id']}`](rules/{rule['id']}.md) | {title} | {rule['severity']} |")
    write(os.path.join(book.source, "rules.md"), f"# {words['rules']}\n\n{words['table']}\n" + "\n".join(lines) + "\n")


def english(rules):
    pages = ["docs/start.md", *(f"docs/start/{name}.md" for name in START), *(page for _, pages in GUIDES for page in pages)]
    book = Book("en", pages, CHINESE, {rule["id"] for rule in rules})
    for page in pages:
        book.page(page)
    titles = {rule["id"]: rule["title"][0].upper() + rule["title"][1:] for rule in rules}
    book.pages["docs/rules.md"] = "rules/index.md"
    words = {"page": "docs/rules.md", "rule": "Rule", "rules": "Rules", "table": "| rule | finds | severity |\n|---|---|---|",
             "explain": "`tagaudit explain` prints this page, also offline."}
    rule_pages(book, output("rules", "--format", "markdown"), rules, titles.get, words)
    summary = "# Summary\n\n[Start with the symptom](start.md)\n\n# Getting started\n\n"
    for page in pages[1 : 1 + len(START)]:
        summary += f"- [{heading(read(page))}]({book.pages[page]})\n"
    for name, guides in GUIDES:
        summary += f"\n# {name}\n\n"
        for page in guides:
            title = "About tagaudit" if page == "README.md" else heading(read(page))
            summary += f"- [{title}]({book.pages[page]})\n"
    summary += "\n# Rules\n\n- [Rules](rules.md)\n"
    for kind, members in families(rules):
        summary += f"  - [{kind}]()\n"
        for rule in members:
            summary += f"    - [{inert(name_of(rule, titles.get))}](rules/{rule['id']}.md)\n"
    write(os.path.join(book.source, "SUMMARY.md"), summary)
    return pages


def chinese(rules, others):
    # What only the book in English has.
    book = Book("zh", CHINESE, others, {rule["id"] for rule in rules})
    for page in CHINESE:
        book.page(page)
    markdown = output("rules", "--lang", "zh", "--provider", "alibaba", "--format", "markdown")
    titles = dict(re.findall(r"^## (\S+)\n\n(.*?)。", markdown, re.M))
    book.pages["docs/rules.zh-CN.md"] = "rules/index.md"
    words = {"page": "docs/rules.zh-CN.md", "rule": "规则", "rules": "规则", "table": "| 规则 | 问题 | 级别 |\n|---|---|---|",
             "explain": "`tagaudit explain --lang zh` 可离线显示本页。"}
    rule_pages(book, markdown, rules, titles.get, words)
    summary = "# Summary\n\n[从现象开始](start.md)\n\n"
    for page in CHINESE[1:]:
        name = "关于 tagaudit" if page == "README.zh-CN.md" else heading(read(page))
        summary += f"- [{name}]({book.pages[page]})\n"
    summary += "- [规则](rules.md)\n"
    for rule in rules:
        summary += f"  - [{inert(name_of(rule, titles.get))}](rules/{rule['id']}.md)\n"
    write(os.path.join(book.source, "SUMMARY.md"), summary)


shutil.rmtree(out, ignore_errors=True)
every = json.loads(output("rules", "--format", "json"))["rules"]
pages = english(every)
chinese([rule for rule in every if "alibaba" in rule["providers"]], pages)
for language in ("en", "zh"):
    shutil.copyfile(f"docs/site/{language}.toml", os.path.join(out, language, "book.toml"))
    shutil.copyfile("docs/site/theme.css", os.path.join(out, language, "theme.css"))
print(f"{len(every)} rules")
