"""Which files are read, told by their paths."""

import pytest

from fleet.connectors.scan.likely import NAMED_LIMIT, NEAR_LIMIT, Likely

LIKELY = Likely(["~/.pi/agent", "/opt/kit", "/etc/one.conf", "relative", "/"])


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/srv/app/.env", NAMED_LIMIT),
        ("/srv/app/.env.production", NAMED_LIMIT),
        ("/srv/app/prod.env", NAMED_LIMIT),
        ("/home/u/.netrc", NAMED_LIMIT),
        ("/home/u/.aws/config", NAMED_LIMIT),
        ("/srv/u/.ssh/work", NAMED_LIMIT),
        ("/srv/u/.docker/config.json", NAMED_LIMIT),
        ("/etc/ssl/private/x.KEY", NAMED_LIMIT),
        ("/etc/ssh/ssh_host_ed25519_key", NAMED_LIMIT),
        ("/r/.mempalace/server/ab/token", NAMED_LIMIT),
        ("/etc/one.conf", NAMED_LIMIT),
        ("/opt/kit", NAMED_LIMIT),
        ("/root/notes.txt", NEAR_LIMIT),
        ("/run/secrets/palace", NEAR_LIMIT),
        ("/opt/kit/deep/er/x", NEAR_LIMIT),
        ("/srv/u/.pi/agent/sessions/x.jsonl", NEAR_LIMIT),
        ("/etc/two.conf", 0),
        ("/opt/kitten/x", 0),
        ("/usr/bin/env", 0),
        ("/usr/share/doc/x/.env", 0),
        ("/usr/lib/python3.11/test/certdata/keycert.pem", 0),
        ("/root/app/node_modules/p/test/.npmrc", 0),
        ("/home/u/.cache/pip/x", 0),
    ],
)
def test_by_its_path(path: str, limit: int) -> None:
    assert LIKELY.limit(path) == limit


def test_a_folder_is_judged_anew_whenever_it_changes() -> None:
    asked = ["/root/a", "/srv/a", "/root/node_modules/a", "/root/b", "/srv/b"]
    assert [bool(LIKELY.limit(path)) for path in asked] == [True, False, False, True, False]
