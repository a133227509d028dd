"""python tests/site/check.py TAGAUDIT FOLDER: every link of the documentation site leads to a page and a heading, every rule has its
page, and the search finds the messages that people paste."""

import html.parser
import json
import os
import re
import subprocess
import sys
import urllib.parse

tagaudit, folder = sys.argv[1], os.path.realpath(sys.argv[2])


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.title = [], set(), ""
        self.is_title = False
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])
        for name in ("id", "name"):
            if attributes.get(name):
                self.ids.add(attributes[name])
        self.is_title = tag == "title"

    def handle_data(self, data):
        if self.is_title:
            self.title += data
            self.is_title = False


pages = {}
for place, _, names in os.walk(folder):
    for name in names:
        path = os.path.join(place, name)
        # What the books only hand out is not theirs.
        if name.endswith(".html") and "/files/" not in path and name not in ("print.html", "404.html", "toc.html"):
            pages[path] = Page(path)
wrong = []
links = 0
for path, page in pages.items():
    for link in page.links:
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            continue
        links += 1
        file = path
        if address.path:
            file = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(address.path)))
        if os.path.isdir(file) and "/files/" not in file:
            file = os.path.join(file, "index.html")
        anchor = urllib.parse.unquote(address.fragment)
        if not os.path.exists(file):
            wrong.append(f"{os.path.relpath(path, folder)}: {link} does not exist")
        elif anchor and file in pages and anchor not in pages[file].ids:
            wrong.append(f"{os.path.relpath(path, folder)}: {link} names no heading")
assert not wrong, "\n".join(wrong[:40])
assert links > 10_000, links

rules = json.loads(subprocess.run([tagaudit, "rules", "--format", "json"], capture_output=True, check=True).stdout)["rules"]
for rule in rules:
    page = pages[os.path.join(folder, "rules", rule["id"] + ".html")]
    if rule["messages"]:
        assert rule["messages"][0]["text"].split(" … ")[0] in page.title, (rule["id"], page.title)
    has_chinese = os.path.join(folder, "zh", "rules", rule["id"] + ".html") in pages
    assert has_chinese == ("alibaba" in rule["providers"]), rule["id"]

(index,) = [name for name in os.listdir(folder) if re.fullmatch(r"searchindex-\w+\.js", name)]
with open(os.path.join(folder, index), encoding="utf-8") as file:
    text = file.read()
for message in ("Multiple tagged security groups found for instance", "Forbidden.RAM"):
    assert message in text, message
print(f"{len(pages)} pages, {links} links")
