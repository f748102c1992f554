"""From descriptions to items: templates rendered, the controller's files read."""

import json
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import NamedTuple

from fleet.errors import PlanError
from fleet.facts.envfile import GIT_CRYPT
from fleet.facts.pem import certificates_in
from fleet.facts.request import Read
from fleet.installers.content import check_mode, references, written
from fleet.installers.items import (
    BlockBody,
    Body,
    ComposeBody,
    ConfigBody,
    ControllerFiles,
    FileBody,
    GitBody,
    Item,
    LinkBody,
    Load,
    MergeBody,
    PackageBody,
    ServiceBody,
    TreeBody,
)
from fleet.installers.model import Content, Syntax
from fleet.inventory.model import Target, Value
from fleet.inventory.render import render
from fleet.systems.model import (
    Artifact,
    Compose,
    Config,
    Copy,
    Link,
    Merge,
    Observed,
    Package,
    Service,
    Template,
    Tree,
)
from fleet.systems.resolve import Resolved

PUSHED_LIMIT = 16 * 1024 * 1024
_PRIVATE = b"PRIVATE KEY-----"
_LOCKED = (
    "{} is encrypted by git-crypt and was not unlocked on the controller",
    "unlock it there (`git-crypt unlock`), then plan again",
)


def desired(
    resolved: Sequence[Resolved], target: Target, files: ControllerFiles
) -> tuple[Item, ...]:
    """Return what should be on a target, in the order of its systems and their artifacts.

    Raises:
        PlanError: a template names an undefined variable, a source is missing, or a secret would
            be readable by others; names the target and the artifact.
    """
    return tuple(
        _item(r, name, artifact, _Maker(target, r, name, files))
        for r in resolved
        for name, artifact in r.artifacts.items()
        if not isinstance(artifact, Observed)
    )


class _Maker(NamedTuple):
    """What making one item's body needs."""

    target: Target
    resolved: Resolved
    name: str
    files: ControllerFiles

    @property
    def where(self) -> str:
        return f"{self.target.name}: {self.resolved.system.system}.{self.name}"

    @property
    def variables(self) -> Mapping[str, Value]:
        return self.resolved.variables

    def template(self, name: str, syntax: Syntax = "text") -> Content:
        text = self.files.template(name)
        return written(render(text, self.variables, where=f"{self.where}: {name}"), syntax)

    def text(self, value: object) -> object:
        """Render the texts within a value of a description."""
        if isinstance(value, str):
            return render(value, self.variables, where=self.where)
        if isinstance(value, Mapping):
            return {str(self.text(name)): self.text(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.text(inner) for inner in value]
        return value


def _item(r: Resolved, name: str, artifact: Artifact, maker: _Maker) -> Item:
    if not artifact.path and not isinstance(artifact, Package):
        raise PlanError(
            "its path is empty", where=maker.where, hint="set the variable it is made of"
        )
    body = _body(artifact, maker)
    return Item(
        system=r.system.system,
        artifact=name,
        path=artifact.path,
        body=body,
        env=artifact.read is Read.ENV,
        certificates=artifact.read is Read.PEM,
        problem=_problem(artifact, body),
        needs=tuple(f"{r.system.system}.{need}" for need in artifact.needs),
        shown=artifact.keys if artifact.read is Read.JSON else None,
    )


def _problem(artifact: Artifact, body: Body) -> tuple[str, str] | None:
    """Find what must not be shipped, whatever lies on the target."""
    if isinstance(body, LinkBody) and not body.source:
        return "it is not said what the link leads to", "set the variable its source is made of"
    contents: dict[str, bytes] = {}
    if isinstance(body, FileBody | BlockBody):
        source = (
            artifact.source if isinstance(artifact, Copy) else getattr(artifact, "template", "")
        )
        contents = {str(source): body.content.data}
    elif isinstance(body, TreeBody):
        contents = {file.path: file.data for file in body.files}
    for source, data in contents.items():
        if data.startswith(GIT_CRYPT):
            what, hint = _LOCKED
            return what.format(source), hint
        if artifact.read is Read.PEM and (told := _no_certificates(data)):
            return f"{source} {told}", "give a file with the certificates alone, in PEM"
    return None


def _no_certificates(data: bytes) -> str:
    """Say why a file cannot go where everybody may read what is trusted; empty where it can."""
    if _PRIVATE in data:
        return "holds a private key, which is for nobody else to have"
    return "" if certificates_in(data) else "holds no certificate in PEM"


@singledispatch
def _body(artifact: Artifact, maker: _Maker) -> Body:
    raise PlanError(f"no installer brings a {type(artifact).__name__}", where=maker.where)


@_body.register
def _link(artifact: Link, _maker: _Maker) -> Body:
    return LinkBody(artifact.source)


@_body.register
def _template(artifact: Template, maker: _Maker) -> Body:
    mode = _mode(artifact.mode, maker)
    syntax: Syntax = "env" if artifact.read is Read.ENV else "text"
    content = maker.template(artifact.template, syntax)
    check_mode(content, mode, maker.where)
    if artifact.block:
        return BlockBody(content, mode, artifact.instead)
    return FileBody(content, mode, once=artifact.once)


@_body.register
def _copy(artifact: Copy, maker: _Maker) -> Body:
    return FileBody(Content(data=maker.files.file(artifact.source)), _mode(artifact.mode, maker))


@_body.register
def _tree(artifact: Tree, maker: _Maker) -> Body:
    if artifact.git:
        return GitBody(artifact.git, artifact.ref)
    if not artifact.source:
        raise PlanError("it has neither a source nor a git URL", where=maker.where)
    files = tuple(maker.files.tree(artifact.source))
    size = sum(len(file.data) for file in files)
    if size > PUSHED_LIMIT:
        raise PlanError(
            f"{artifact.source} holds {size} bytes; at most {PUSHED_LIMIT} are pushed",
            where=maker.where,
            hint="let the target check it out with `git`, or push less",
        )
    return TreeBody(files)


@_body.register
def _merge(artifact: Merge, maker: _Maker) -> Body:
    values = _set_by(artifact, maker) if artifact.template else maker.text(artifact.set)
    if not isinstance(values, dict) or not values:
        raise PlanError("it sets nothing", where=maker.where)
    if references(written(json.dumps(values, ensure_ascii=False))):
        raise PlanError(
            "it would put a secret into a file that is read whole",
            where=maker.where,
            hint="name a variable of the environment there, as the program that reads it allows",
        )
    return MergeBody(values, artifact.instead)


def _set_by(artifact: Merge, maker: _Maker) -> object:
    where = f"{maker.where}: {artifact.template}"
    known: dict[str, Value] = {**maker.variables, "given": dict(artifact.given)}
    text = render(maker.files.template(artifact.template), known, where=where)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise PlanError(f"it renders to what is no JSON ({error})", where=where) from None


@_body.register
def _package(artifact: Package, maker: _Maker) -> Body:
    if artifact.manager != "npm" and (artifact.manager == "pi") != bool(artifact.folder):
        raise PlanError(
            "a package of pi has a `folder`, one of npm may have one, and no other has",
            where=maker.where,
        )
    return PackageBody(
        artifact.manager,
        artifact.package,
        artifact.command or artifact.package,
        artifact.version,
        artifact.folder,
        least=artifact.least,
        unless=artifact.unless,
        sudo=bool(artifact.sudo),
    )


@_body.register
def _compose(artifact: Compose, maker: _Maker) -> Body:
    content = maker.template(artifact.template)
    if content.sealed:
        raise PlanError(
            "the compose file would hold a secret",
            where=f"{maker.where}: {artifact.template}",
            hint="name it as ${VARIABLE} there, and give it its value in the `env` template",
        )
    env = maker.template(artifact.env, "env") if artifact.env else None
    return ComposeBody(content, env, artifact.project)


@_body.register
def _service(artifact: Service, maker: _Maker) -> Body:
    syntax: Syntax = "xml" if artifact.manager == "launchd" else "text"
    content = maker.template(artifact.template, syntax)
    check_mode(content, 0o644, maker.where)
    return ServiceBody(content, artifact.manager, artifact.unit)


_LOADS: dict[str, Load] = {"systemd": "systemd", "own": "own", "none": "none"}


@_body.register
def _config(artifact: Config, maker: _Maker) -> Body:
    content = maker.template(artifact.template)
    check_mode(content, 0o644, maker.where)
    if artifact.load not in _LOADS:
        hint = f"known: {', '.join(_LOADS)}"
        raise PlanError(f"it cannot be loaded by {artifact.load!r}", where=maker.where, hint=hint)
    return ConfigBody(content, artifact.program, artifact.main, _LOADS[artifact.load])


def _mode(text: str, maker: _Maker) -> int:
    try:
        mode = int(text, 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o7777:  # noqa: PLR2004 - all permission bits there are
        raise PlanError(
            f"its mode {text!r} is not an octal number", where=maker.where, hint='as in "0644"'
        )
    return mode
