"""What the end-to-end tests stand on: an engine, images, three ssh hosts, and their files."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import docker
import pytest
from support.base_image import PACKAGES, import_image
from support.pi import BRIDGE
from support.rig import (
    BASE,
    LABEL,
    PALACE,
    PI,
    RUN,
    SshHost,
    base_image,
    compose_binary,
    palace_image,
    ssh_files,
    ssh_host,
)
from support.tools import mempalace_tool, pi_tool

NO_ENGINE = "no Docker engine answers (`make test` starts one on Debian as root)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here, so that it can be left out where there is no engine."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env(timeout=120)
    try:
        client.ping()
    except Exception as error:  # noqa: BLE001 - whatever keeps it from answering
        client.close()
        pytest.skip(f"{NO_ENGINE}: {error}")
    yield client
    for container in client.containers.list(all=True, filters={"label": f"{LABEL}={RUN}"}):
        container.remove(force=True, v=True)
    client.close()


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleet")


@pytest.fixture(scope="session")
def images(engine: docker.DockerClient, scratch: Path) -> Iterator[None]:
    base_image(engine, scratch)
    palace_image(engine, scratch, mempalace_tool())
    yield
    for tag in (BASE, PALACE):
        engine.images.remove(tag, force=True)


@pytest.fixture(scope="session")
def pi_image(
    engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """An image with node, pi and the toolkit at the paths they have on this machine."""
    modules = pi_tool().bin_dir.parent.resolve()
    path = f"{modules}/node/bin:{modules}/.bin:/usr/local/bin:/usr/bin:/bin"
    yield import_image(
        engine,
        PI,
        tmp_path_factory.mktemp("image"),
        folders=[str(modules), str(BRIDGE.parents[2])],
        changes=[f'LABEL {LABEL}="{RUN}"', f"ENV PATH={path}", 'CMD ["sleep", "600"]'],
        packages=[*PACKAGES, "python3", "libstdc++6"],
    )
    engine.images.remove(PI, force=True)


@pytest.fixture(scope="session")
def hosts(images: None, scratch: Path) -> Iterator[dict[str, SshHost]]:
    """Three machines, each with another shell that starts pi."""
    with ExitStack() as stack:
        made = [stack.enter_context(ssh_host(name, scratch)) for name in ("alpha", "beta", "gamma")]
        config = stack.enter_context(ssh_files(scratch, made))
        # Put back afterwards: other files' machines have a configuration of their own.
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        environment.setenv("FLEET_SSH_CONFIG", str(config))
        yield {host.name: host for host in made}


@pytest.fixture(scope="session")
def compose_client() -> Path:
    """The real compose binary: its wrapper on the PATH loses exit codes."""
    return compose_binary()
