"""What a palace's own words mean."""

import pytest

from fleet.verifier.palace import palace_is_local, same_path, without_credentials

HOME = "/home/u"


@pytest.mark.parametrize(
    "path, xdg, local",
    [
        ("/home/u/.mempalace/palace", "", True),
        ("/home/u/.config/mempalace/palace", "", True),
        ("/home/u/.config/mempalace/palace/", "", True),
        ("//home/u/./.mempalace/x/../palace", "", True),
        ("/home/u/xdg/mempalace/palace", "/home/u/xdg", True),
        ("/home/u/.config/mempalace/palace", "/home/u/xdg", True),
        ("xdg/mempalace/palace", "xdg", False),
        ("/data/palace", "", False),
        ("/home/v/.mempalace/palace", "", False),
        ("/home/u/.mempalace/palace2", "", False),
        ("", "", False),
    ],
)
def test_a_default_palace_is_local(path: str, xdg: str, local: bool) -> None:
    assert palace_is_local(path, HOME, xdg_config_home=xdg) is local


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("~/palace", "/home/u/palace/", True),
        ("~", "/home/u", True),
        ("~v/palace", "/home/u/palace", False),
        ("/data/palace", "/data/palace2", False),
    ],
)
def test_paths_are_compared_with_the_home_filled_in(one: str, other: str, same: bool) -> None:
    assert same_path(one, other, home=HOME) is same


@pytest.mark.parametrize(
    "url, clean",
    [
        ("https://palace/mcp", "https://palace/mcp"),
        ("https://me:tok-EXAMPLE-1@palace:8765/mcp?x=1#y", "https://palace:8765/mcp?x=1#y"),
        ("http://a@b@palace/mcp", "http://palace/mcp"),
        ("http://me:tok-EXAMPLE-1@[::1/mcp", "http://[::1/mcp"),
        ("palace/mcp?to=a@b", "palace/mcp?to=a@b"),
    ],
)
def test_credentials_are_left_out(url: str, clean: str) -> None:
    assert without_credentials(url) == clean
