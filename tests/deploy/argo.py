"""Reads the workflow with the models of Argo's API: what they do not know would be dropped by the controller without a word."""

import sys

import yaml
from hera.workflows.models import CronWorkflow


def lost(given, read, place=""):
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(read, dict) or key not in read:
                yield f"{place}/{key}"
            else:
                yield from lost(value, read[key], f"{place}/{key}")
    elif isinstance(given, list):
        for index, (one, other) in enumerate(zip(given, read)):
            yield from lost(one, other, f"{place}/{index}")


workflow = yaml.safe_load(open(sys.argv[1]))
read = CronWorkflow.model_validate(workflow).model_dump(by_alias=True, exclude_none=True, mode="json")
unknown = list(lost(workflow, read))
sys.exit(f"unknown to Argo: {unknown}" if unknown else 0)
