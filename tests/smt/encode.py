"""The documented semantics of IAM as formulas of an SMT solver, over strings, numbers and addresses.

Written from the IAM User Guide ("Policy evaluation logic", "IAM JSON policy elements: Condition operators", "Multivalued
context keys"), and from no line of the engine. A request is a set of solver variables: which resource, and for each context
key whether it is there and with what value. What only a deployment tells is a free boolean: a resource pattern with an
unknown part is free for each text of it, a condition for each request, a statement for the whole question.
"""

import functools
import ipaddress
from datetime import datetime

import z3

from generate import ACCOUNT, ACTIONS, ADDRESS, ARN, BOOL, DATE, KEYS, KNOWN, LIST, NUMBER, REGIONS, TEXT

STRINGS = z3.ReSort(z3.StringSort())
# Values of one key that are told apart: more than any generated policy asks for.
LIST_LENGTH = 4
FOLDED_KEYS = {key.lower(): (key, kind) for key, kind in KEYS.items()}


def glob(pattern):
    parts, literal = [], ""
    for character in pattern:
        if character in "*?":
            if literal:
                parts.append(z3.Re(literal))
                literal = ""
            parts.append(z3.Full(STRINGS) if character == "*" else z3.AllChar(STRINGS))
        else:
            literal += character
    if literal or not parts:
        parts.append(z3.Re(literal))
    return parts[0] if len(parts) == 1 else z3.Concat(*parts)


def like(pattern, text):
    """Whether a glob matches a known text."""
    places = {0}
    for character in text:
        places = after(pattern, places, character)
    return len(pattern) in closed(pattern, places)


def closed(pattern, places):
    found = set(places)
    for place in places:
        while place < len(pattern) and pattern[place] == "*":
            place += 1
            found.add(place)
    return found


def after(pattern, places, character):
    found = set()
    for place in closed(pattern, places):
        if place < len(pattern):
            if pattern[place] == "*":
                found.add(place)
            elif pattern[place] in ("?", character):
                found.add(place + 1)
    return found


@functools.lru_cache(maxsize=100_000)
def behind(pattern, prefix):
    """What is left of a glob behind a known start: any of these globs."""
    places = {0}
    for character in prefix:
        places = after(pattern, places, character)
    return frozenset(pattern[place:] for place in places)


class Request:
    """The variables of one request. Requests that share a resource share its variables."""

    def __init__(self, action, regions, tag=""):
        self.action = action
        self.name = z3.String("name")
        self.target = z3.Int("target")
        self.tag = tag
        self.present, self.values, self.lengths, self.memo = {}, {}, {}, {}
        service = action.split(":")[0]
        # Requests to services with one endpoint go to the region of that endpoint.
        requested = ["us-east-1"] if service in ("iam", "route53") else regions
        kinds = ACTIONS[action] or [(None, None)]
        self.targets = [(prefix, rest, region) for prefix, rest in kinds for region in requested]
        shapes = []
        for at, (_, rest, _) in enumerate(self.targets):
            shape = self.named(rest) if rest else self.name == z3.StringVal("")
            shapes.append(z3.And(self.target == at, shape))
        self.valid = z3.Or(shapes)

    def named(self, pattern):
        known = self.memo.get(pattern)
        if known is None:
            if set(pattern) == {"*"}:
                known = z3.BoolVal(True)
            elif "*" not in pattern and "?" not in pattern:
                known = self.name == z3.StringVal(pattern)
            else:
                known = z3.InRe(self.name, glob(pattern))
            self.memo[pattern] = known
        return known

    def by_target(self, decide):
        """A formula for each kind of resource and region, those that are alike together."""
        groups = {}
        for at, target in enumerate(self.targets):
            groups.setdefault(decide(*target), []).append(at)
        made = []
        for formula, places in groups.items():
            here = z3.BoolVal(True) if len(groups) == 1 else z3.Or([self.target == at for at in places])
            made.append(z3.And(here, formula))
        return z3.Or(made)

    def on(self, pattern):
        """Whether a pattern of a `Resource` element matches, part by part."""
        memo = self.memo.get(("on", pattern))
        if memo is not None:
            return memo

        def decide(prefix, _rest, region):
            if set(pattern) == {"*"}:
                return z3.BoolVal(True)
            if prefix is None:
                return z3.BoolVal(False)
            wanted = pattern.split(":", 5)
            wanted += ["*"] * (6 - len(wanted))
            actual = ("arn:aws:" + prefix.format(region=region, account=ACCOUNT)).split(":", 5)
            if not all(like(one, other) for one, other in zip(wanted[:5], actual[:5])):
                return z3.BoolVal(False)
            return z3.Or([self.named(rest) for rest in sorted(behind(wanted[5], actual[5]))])

        found = self.by_target(decide)
        self.memo[("on", pattern)] = found
        return found

    # Context keys

    def is_there(self, folded):
        key, kind = FOLDED_KEYS[folded]
        if kind == KNOWN:
            return z3.BoolVal(True)
        # Without a resource there is no tag of one.
        if key == "aws:ResourceTag/team" and not ACTIONS[self.action]:
            return z3.BoolVal(False)
        return z3.Bool(f"there{self.tag}:{folded}")

    def variable(self, folded, sort, part=""):
        return z3.Const(f"value{self.tag}{part}:{folded}", sort)

    def compare(self, operator, folded, kind, values):
        """A comparison without quantifier, of a key that is there."""
        memo = self.memo.get((operator, folded, values))
        if memo is None:
            memo = self.fresh(operator, folded, kind, values)
            self.memo[(operator, folded, values)] = memo
        return memo

    def fresh(self, operator, folded, kind, values):
        negated = "Not" in operator
        bare = operator.replace("Not", "")
        if kind == KNOWN:
            matches = like if bare == "StringLike" else str.__eq__
            return self.by_target(
                lambda _prefix, _rest, region: z3.BoolVal(any(matches(one, region) for one in values) != negated)
            )
        if kind == TEXT:
            any_of = z3.Or([text_is(bare, self.variable(folded, z3.StringSort()), one) for one in values])
        elif kind == BOOL:
            any_of = z3.Or([self.variable(folded, z3.BoolSort()) == (one == "true") for one in values])
        elif kind == NUMBER:
            any_of = z3.Or([order(bare[7:], self.variable(folded, z3.RealSort()), z3.RealVal(one)) for one in values])
        elif kind == DATE:
            seconds = [int(datetime.fromisoformat(one.replace("Z", "+00:00")).timestamp()) for one in values]
            any_of = z3.Or([order(bare[4:], self.variable(folded, z3.RealSort()), z3.RealVal(one)) for one in seconds])
        elif kind == ADDRESS:
            any_of = z3.Or([self.address(folded, one) for one in values])
        elif kind == ARN:
            any_of = z3.Or([self.arn(folded, one) for one in values])
        else:
            raise ValueError(f"{operator} on {folded}")
        return z3.Not(any_of) if negated else any_of

    def address(self, folded, block):
        is_six = self.variable(folded, z3.BoolSort(), "six")
        network = ipaddress.ip_network(block)
        if network.version == 6:
            assert network.prefixlen == 0
            return is_six
        bits = self.variable(folded, z3.BitVecSort(32))
        mask, start = int(network.netmask), int(network.network_address)
        return z3.And(z3.Not(is_six), bits & mask == start)

    def arn(self, folded, pattern):
        parts = []
        for at, wanted in enumerate(pattern.split(":", 5)[1:]):
            value = self.variable(folded, z3.StringSort(), f"part{at}")
            parts.append(z3.InRe(value, glob(wanted)))
        return z3.And(parts)

    def listed(self, operator, folded, values):
        """`ForAllValues` and `ForAnyValue`."""
        quantifier, bare = operator.split(":")
        negated = "Not" in bare
        bare = bare.replace("Not", "")
        length = z3.Int(f"length{self.tag}:{folded}")
        each = []
        for at in range(LIST_LENGTH):
            value = self.variable(folded, z3.StringSort(), f"item{at}")
            matches = z3.Or([text_is(bare, value, one) for one in values])
            matches = z3.Not(matches) if negated else matches
            each.append((length > at, matches))
        there = self.is_there(folded)
        self.lengths[folded] = z3.And(length >= 1, length <= LIST_LENGTH)
        if quantifier == "ForAllValues":
            return z3.Or(z3.Not(there), z3.And([z3.Implies(counts, matches) for counts, matches in each]))
        return z3.And(there, z3.Or([z3.And(counts, matches) for counts, matches in each]))

    def condition(self, operator, key, values):
        folded = key.lower()
        kind = FOLDED_KEYS[folded][1]
        there = self.is_there(folded)
        if operator == "Null":
            return z3.Or([z3.Not(there) if one == "true" else there for one in values])
        if kind == LIST:
            return self.listed(operator, folded, values)
        if ":" in operator:
            # Of a key with one value, every value is some value.
            quantifier, bare = operator.split(":")
            compared = self.compare(bare, folded, kind, values)
            if quantifier == "ForAllValues":
                return z3.Or(z3.Not(there), compared)
            return z3.And(there, compared)
        bare = operator.removesuffix("IfExists")
        compared = self.compare(bare, folded, kind, values)
        if bare != operator or "Not" in bare:
            return z3.Or(z3.Not(there), compared)
        return z3.And(there, compared)

    def possible(self):
        """What holds of every request."""
        return z3.And([self.valid, *self.lengths.values()])


def text_is(operator, value, wanted):
    if operator == "StringEquals":
        return value == z3.StringVal(wanted)
    if operator == "StringLike":
        return z3.BoolVal(True) if set(wanted) == {"*"} else z3.InRe(value, glob(wanted))
    if operator == "StringEqualsIgnoreCase":
        letters = [z3.Union(z3.Re(one.lower()), z3.Re(one.upper())) for one in wanted]
        return z3.InRe(value, z3.Concat(*letters))
    raise ValueError(operator)


def order(name, value, wanted):
    return {
        "Equals": value == wanted,
        "LessThan": value < wanted,
        "LessThanEquals": value <= wanted,
        "GreaterThan": value > wanted,
        "GreaterThanEquals": value >= wanted,
    }[name]


def texts(value):
    return value if isinstance(value, list) else [value]


class Open:
    """The free booleans of one question, by what they stand for."""

    def __init__(self):
        self.stack, self.patterns, self.conditions = {}, {}, {}

    def of(self, kind, name):
        return kind.setdefault(name, z3.Bool(f"open:{name}"))

    def all(self):
        return [*self.stack.values(), *self.patterns.values(), *self.conditions.values()]


def is_open(value):
    return isinstance(value, dict)


def widest(value):
    text = value["Fn::Sub"]
    for parameter in ("${U0}", "${U1}"):
        text = text.replace(parameter, "*")
    return text


class Policies:
    """What some layers of policies say of a request."""

    def __init__(self, request, unknown):
        self.request, self.unknown = request, unknown

    def speaks(self, statement, where):
        element = "NotAction" if "NotAction" in statement else "Action"
        action = self.request.action.lower()
        known = [one for one in texts(statement[element]) if not is_open(one)]
        open_ones = [widest(one) for one in texts(statement[element]) if is_open(one)]
        if any(like(one.lower(), action) for one in known):
            says = z3.BoolVal(True)
        elif any(like(one.lower(), action) for one in open_ones):
            says = self.unknown.of(self.unknown.stack, f"action of {where}")
        else:
            says = z3.BoolVal(False)
        return z3.Not(says) if element == "NotAction" else says

    def touches(self, statement):
        element = "NotResource" if "NotResource" in statement else "Resource"
        found = []
        for one in texts(statement[element]):
            if is_open(one):
                free = self.unknown.of(self.unknown.patterns, one["Fn::Sub"])
                found.append(z3.And(free, self.open_on(one)))
            else:
                found.append(self.request.on(one))
        return z3.Not(z3.Or(found)) if element == "NotResource" else z3.Or(found)

    def open_on(self, value):
        """The widest that a pattern with an unknown part can be: behind five known colons it is a name; else the part may
        hold colons, and moves the borders of what follows."""
        text = widest(value)
        if value["Fn::Sub"].split("$")[0].count(":") >= 5:
            return self.request.on(text)

        def decide(prefix, _rest, region):
            if prefix is None:
                return z3.BoolVal(set(text) == {"*"})
            arn = "arn:aws:" + prefix.format(region=region, account=ACCOUNT)
            return z3.Or([self.request.named(rest) for rest in sorted(behind(text, arn))])

        return self.request.by_target(decide)

    def holds(self, statement):
        found = []
        for operator, keys in statement.get("Condition", {}).items():
            for key, values in keys.items():
                listed = texts(values)
                if any(is_open(one) for one in listed):
                    name = f"{operator} {key.lower()} {listed}"
                    found.append(self.unknown.of(self.unknown.conditions, name))
                else:
                    found.append(self.request.condition(operator, key, tuple(listed)))
        return z3.And(found)

    def statement(self, statement, where):
        if "Fn::If" in statement:
            name, then, otherwise = statement["Fn::If"]
            decided = self.unknown.of(self.unknown.stack, name)
            effects = {"Allow": [], "Deny": []}
            for guard, one in ((decided, then), (z3.Not(decided), otherwise)):
                if "Effect" in one:
                    for effect, formulas in self.statement(one, f"{where} {one is then}").items():
                        effects[effect].extend(z3.And(guard, formula) for formula in formulas)
            return effects
        applies = z3.And(self.speaks(statement, where), self.touches(statement), self.holds(statement))
        return {statement["Effect"]: [applies]}

    def layer(self, documents, name):
        allows, denies = [], []
        for number, document in enumerate(documents):
            for at, statement in enumerate(document["Statement"]):
                found = self.statement(statement, f"{name} {number} {at}")
                allows.extend(found.get("Allow", []))
                denies.extend(found.get("Deny", []))
        return z3.Or(allows), z3.Or(denies)


def meant(request, baseline):
    """The requests that a baseline asks for."""
    found = []
    for statement in baseline["Statement"]:
        if statement["Action"] == request.action:
            on = z3.Or([request.on(one) for one in texts(statement["Resource"])])
            holds = [
                request.condition(operator, key, tuple(texts(values)))
                for operator, keys in statement.get("Condition", {}).items()
                for key, values in keys.items()
            ]
            found.append(z3.And([on, *holds]))
    return z3.Or(found)
