"""Has a solver prove what `tagaudit policy diff` says of generated pairs of a baseline and a role.

Where everything is known, the verdict has to be the one that the solver comes to. Where something is decided by a deployment
only, the verdict may say no more than the solver proves for every deployment; how often it says less is counted.
"""

import argparse
import collections
import json
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import time

import z3

import generate
from encode import Open, Policies, Request, meant

ROLES = 250
# Of the solver: its own measure of work, so that the same seed gives the same answer on every machine.
WORK = 600_000
# Kinds of resources times regions.
MOST_TARGETS = 4
# Free booleans that are gone through one by one.
MOST_OPEN = 5


class Unsure(Exception):
    """The solver came to no answer within its bounds."""


def satisfiable(*formulas):
    """Whether some request fulfils them, or `Unsure`."""
    answer = attempt(WORK, 0, formulas)
    if answer is not None:
        return answer
    # Kind by kind of resource and region by region the questions are smaller.
    target = z3.Int("target")
    sure = True
    for at in range(MOST_TARGETS):
        here = [z3.simplify(z3.substitute(formula, (target, z3.IntVal(at)))) for formula in formulas]
        for seed in range(1, 4):
            answer = attempt(WORK * 4 * seed, seed, here)
            if answer is not None:
                break
        if answer:
            return True
        sure &= answer is not None
    if sure:
        return False
    raise Unsure("the solver gives up")


def attempt(work, seed, formulas):
    """Whether some request fulfils them; `None` where that is more work than this."""
    solver = z3.Solver()
    solver.set("rlimit", work)
    solver.set("random_seed", seed)
    solver.add(*formulas)
    answer = solver.check()
    return None if answer == z3.unknown else answer == z3.sat


class Question:
    """An action of a baseline against the policies of a role."""

    def __init__(self, action, baseline, role, controls, regions):
        self.arguments = (action, baseline, role, controls, regions)
        self.unknown = Open()
        self.request = Request(action, regions)
        self.build(self.request)

    def build(self, request):
        _, baseline, (policies, boundary), controls, _ = self.arguments
        said = Policies(request, self.unknown)
        layers = [said.layer(policies, "identity")]
        if boundary is not None:
            layers.append(said.layer([boundary], "boundary"))
        layers.extend(said.layer([control], f"control {at}") for at, control in enumerate(controls))
        denied = z3.Or([denies for _, denies in layers])
        allows = [allows for allows, _ in layers]
        asked = meant(request, baseline)
        asked = z3.And(request.possible(), asked)
        self.denied, self.others = denied, z3.And(allows[1:])
        allowed = z3.And(z3.Not(denied), *allows)
        if request is self.request:
            self.asked, self.allowed = asked, allowed
        return asked, allowed

    def helpless(self):
        """Whether no further Allow could help."""
        return not satisfiable(self.asked, z3.Not(self.denied), self.others)

    def for_every_deployment(self, wanted):
        """Whether in every deployment some request is allowed (or not), shown on one resource; a condition may come out
        either way for the very same request."""
        stack, patterns = list(self.unknown.stack.values()), list(self.unknown.patterns.values())
        conditions = list(self.unknown.conditions.values())
        if len(stack) + len(patterns) + len(conditions) > MOST_OPEN:
            raise Unsure("too many unknown values")
        for of_stack in assignments(stack):
            parts = []
            for number, of_patterns in enumerate(assignments(patterns)):
                asked, allowed = self.build(Request(*self.arguments[::4], tag=f"#{number}"))
                parts.append(asked)
                for of_conditions in assignments(conditions):
                    formula = z3.substitute(allowed, *of_stack, *of_patterns, *of_conditions)
                    parts.append(formula if wanted else z3.Not(formula))
            if not satisfiable(*parts):
                return False
        return True


def assignments(variables):
    """Every way to decide some booleans."""
    for bits in range(1 << len(variables)):
        yield [(variable, z3.BoolVal(bool(bits >> at & 1))) for at, variable in enumerate(variables)]


def judge(question, verdict, not_granted):
    """What is wrong with a verdict, or an empty text; and what kind of answer it was."""
    may_fail = satisfiable(question.asked, z3.Not(question.allowed))
    may_hold = satisfiable(question.asked, question.allowed)
    if not may_fail and not may_hold:
        return "", "nothing is asked for"
    if not question.unknown.all():
        if not may_fail:
            expected = "granted"
        elif may_hold:
            expected = "partial"
        else:
            expected = "denied" if question.helpless() else "missing"
        if verdict == "undecided":
            return "", f"known, given up, {expected}"
        if verdict != expected:
            return f"it says {verdict}, the solver proves {expected}", f"known, {verdict}"
        return witnesses(question, not_granted[-1:]), f"known, {verdict}"
    if verdict == "undecided":
        return "", "undecided" if may_fail and may_hold else "undecided, and the solver decides"
    if verdict == "granted":
        wrong = may_fail
    elif verdict == "partial":
        wrong = not (question.for_every_deployment(True) and question.for_every_deployment(False))
    else:
        wrong = may_hold or (verdict == "denied" and not question.helpless())
    return f"it says {verdict} whatever is deployed, the solver does not" if wrong else "", f"unknown values, {verdict}"


def witnesses(question, not_granted):
    """What is wrong with the resources that are named to show what is left over."""
    request = question.request
    for left in not_granted:
        places = [
            (at, left["example_resource"][len(start):])
            for at, (prefix, _, region) in enumerate(request.targets)
            for start in ["arn:aws:" + (prefix or "").format(region=region, account=generate.ACCOUNT)]
            if left["example_resource"].startswith(start) or prefix is None
        ]
        if not places:
            return f"the witness {left['witness']} is none of what is asked for"
        # What names no resource does not say in which region either.
        here = [
            request.target == at if request.targets[at][0] is None
            else z3.And(request.target == at, request.name == z3.StringVal(rest))
            for at, rest in places
        ]
        if not satisfiable(question.asked, z3.Or(here), z3.Not(question.allowed)):
            return f"the witness {left['witness']} is always granted"
        if not left.get("only_if") and all(satisfiable(question.asked, one, question.allowed) for one in here):
            return f"the witness {left['witness']} is granted to some request"
    return ""


def run(work):
    """One baseline against the roles of a template."""
    binary, seed, roles = work
    baseline, made, controls, template = generate.batch(seed, roles)
    regions = generate.REGIONS if seed % 3 else generate.REGIONS[:1]
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        paths = {"baseline": baseline, "template": template, **{f"control{at}": one for at, one in enumerate(controls)}}
        for name, value in paths.items():
            pathlib.Path(folder, f"{name}.json").write_text(json.dumps(value))
        command = [binary, "policy", "diff", "--format", "json", "--partition", "aws", "--account", generate.ACCOUNT]
        command += ["--baseline", f"{folder}/baseline.json"]
        for region in regions:
            command += ["--region", region]
        for at in range(len(controls)):
            command += ["--scp", f"{folder}/control{at}.json"]
        done = subprocess.run([*command, f"{folder}/template.json"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 3):
            return collections.Counter(), [f"seed {seed}: exit {done.returncode}: {done.stderr}"]
        report = json.loads(done.stdout)
    found = {role["role"].rsplit(".", 1)[1]: role["actions"] for role in report["roles"]}
    for at, role in enumerate(made):
        counts["pairs"] += 1
        for answer in found[f"R{at:04}"]:
            spelt = next(one for one in generate.ACTIONS if one.lower() == answer["action"].lower())
            question = Question(spelt, baseline, role, controls, regions)
            try:
                # What is left over is looked at in one of four: it takes as long as the verdict.
                not_granted = answer.get("not_granted", []) if at % 4 == 0 else []
                problem, kind = judge(question, answer["verdict"], not_granted)
            except Unsure as why:
                problem, kind = "", f"not proven: {why}"
            counts[kind] += 1
            if problem:
                wrong.append(
                    f"seed {seed}, role {at}, {spelt}: {problem}\n  baseline {json.dumps(baseline)}\n"
                    f"  policies {json.dumps(role[0])}\n  boundary {json.dumps(role[1])}\n"
                    f"  control {json.dumps(controls)}\n  regions {regions}\n  answer {json.dumps(answer)}"
                )
    return counts, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--roles", type=int, default=ROLES, help="roles held against one baseline")
    arguments = parser.parse_args()
    batches = -(-arguments.pairs // arguments.roles)
    binary = str(pathlib.Path(arguments.binary).resolve())
    work = [(binary, arguments.seed * 1_000_000 + at, arguments.roles) for at in range(batches)]
    counts, wrong, start = collections.Counter(), [], time.monotonic()
    with multiprocessing.Pool() as pool:
        for number, (done, problems) in enumerate(pool.imap_unordered(run, work), 1):
            counts += done
            wrong += problems
            if number % 20 == 0:
                print(f"{counts['pairs']} pairs, {len(wrong)} disagreements", file=sys.stderr, flush=True)
    for problem in wrong[:20]:
        print(problem)
    for kind, number in sorted(counts.items()):
        print(f"{number:8} {kind}")
    unproven = sum(number for kind, number in counts.items() if kind.startswith("not proven"))
    print(f"{len(wrong)} disagreements, {unproven} questions not proven, {time.monotonic() - start:.0f} s")
    # Almost everything has to be proven, or agreeing means nothing.
    sys.exit(bool(wrong) or unproven * 100 > counts["pairs"])


if __name__ == "__main__":
    main()
