"""Secrets in an image's configuration that no name tells of: the kept-up rules know their shape."""

import json
import pkgutil

import pytest
from detect_secrets import plugins

from fleet.connectors.scan.configuration import baked_in, labels_to_show
from fleet.connectors.scan.rules import _PLUGINS, Rules
from fleet.facts.images import SecretFact

NONCE = "0" * 32
SHAPES = {
    "SendGrid API Key": f"SG.{'a' * 22}.{'b' * 43}",
    "Stripe Access Key": f"sk_live_{'a' * 24}",
    "Slack Token": f"https://hooks.slack.com/services/T00000000/B00000000/{'X' * 24}",
    "Square OAuth Secret": f"sq0csp-{'a' * 43}",
    "Azure Storage Account access key": f"AccountKey={'A' * 86}==",
}
#: Plugins that are not asked for patterns: entropy and names are judged by rules of our own, and
#: so is what :data:`fleet.verifier.image_config.SHAPES` tells of logins, keys and signed tokens.
OWN = {
    "base",
    "basic_auth",
    "high_entropy_strings",
    "ibm_cos_hmac",
    "jwt",
    "keyword",
    "private_key",
}


def found(**config: object) -> tuple[SecretFact, ...]:
    history = config.pop("history", [])
    raw = json.dumps({"config": config, "history": history}).encode()
    return baked_in(raw, Rules((), NONCE))


@pytest.mark.parametrize("rule", SHAPES)
def test_a_shape_is_found_wherever_a_configuration_holds_it(rule: str) -> None:
    value = SHAPES[rule]
    told = found(
        Env=["PLAIN=yes", f"X={value}"],
        Labels={"org.example.note": value},
        Cmd=["serve", value],
        history=[{"created_by": "RUN true"}, {"created_by": f"RUN call {value} # once"}],
    )
    assert {(one.place, one.key, one.rule) for one in told} == {
        ("env", "X", rule),
        ("label org.example.note", "", rule),
        ("cmd", "", rule),
        ("history 2", "", rule),
    }
    assert value not in repr(told)


def test_what_a_name_told_already_is_told_once() -> None:
    told = found(
        Env=[f"STRIPE_SECRET_KEY={SHAPES['Stripe Access Key']}", "API_TOKEN=npm_" + "a" * 36]
    )
    assert [(one.key, one.rule) for one in told] == [
        ("STRIPE_SECRET_KEY", "a telling name"),
        ("API_TOKEN", "a telling name"),
    ]


def test_a_label_that_holds_one_does_not_travel() -> None:
    labels = {rule: f"see {value}" for rule, value in SHAPES.items()} | {"version": "1.2"}
    assert labels_to_show(labels) == dict.fromkeys(SHAPES, "***") | {"version": "1.2"}


@pytest.mark.parametrize(
    "env",
    [
        "NPM_CONFIG_PREFIX=/home/dev/.npm-global",
        "AWS_REGION=eu-central-1",
        "AZURE_HTTP_USER_AGENT=x",
        "SLACK_CHANNEL=#ops",
    ],
)
def test_a_word_that_a_rule_looks_for_is_no_secret(env: str) -> None:
    assert found(Env=[env]) == ()


def test_every_rule_of_the_set_is_used_or_left_out_by_name() -> None:
    known = {module.name for module in pkgutil.iter_modules(plugins.__path__)}
    assert known == _PLUGINS.keys() | OWN
