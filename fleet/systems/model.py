"""What a system's description may say: the schema of ``system.yml``.

Artifacts, variables and gates are data; what data cannot say is a function in the ``gates.py``
beside it, named by the gate's ``check``. Text fields that hold ``{{ … }}`` are rendered with the
target's variables.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fleet.facts.request import Read
from fleet.verifier.model import Severity

GateId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$")]
Manager = Literal["uv", "npm", "apt", "pipx", "pi"]
Fix = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)?$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]


class Spec(BaseModel):
    """Base of all descriptions: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class Artifact(Spec):
    """Something that lies on a target.

    Attributes:
        path: where it lies, rendered; ``~`` is the home there.
        read: how much of it an audit reads.
        when: a Jinja expression over the variables; false means not wanted on this target.
        keys: of a file that is read as JSON, the keys whose values may leave the target.
        needs: artifacts of the system without which this one is not brought: where one of them
            cannot be, it is left as it is too.
    """

    path: str = ""
    read: Read = Read.HASH
    keys: tuple[str, ...] = ()
    when: str | None = None
    needs: tuple[Name, ...] = ()
    about: str = ""


class Observed(Artifact):
    """Looked at, never installed."""

    kind: Literal["observed"]


class Link(Artifact):
    """A symbolic link to ``source`` on the target."""

    kind: Literal["link"]
    source: str


class Template(Artifact):
    """A file rendered from ``templates/<template>`` with the variables; may hold secrets.

    Attributes:
        block: only a marked block inside a file that others own (a shell's rc file).
        instead: paths of which the first that exists on the target is used in place of ``path``
            (``bash -l`` reads ``~/.bash_profile`` instead of ``~/.profile`` where there is one).
        once: written only where nothing lies, and not fleet's any more once somebody edits it.
    """

    kind: Literal["template"]
    template: str
    mode: str = "0644"
    block: bool = False
    instead: tuple[str, ...] = ()
    once: bool = False


class Copy(Artifact):
    """A file copied from ``source`` on the controller."""

    kind: Literal["copy"]
    source: str
    mode: str = "0644"


class Tree(Artifact):
    """A folder: ``source`` on the controller pushed file by file, or ``git`` checked out there."""

    kind: Literal["tree"]
    source: str = ""
    git: str = ""
    ref: str = ""


class Merge(Artifact):
    """Keys set in a JSON or JSONC file that others own; every other byte stays.

    Attributes:
        set: what is set; names and texts in it are rendered.
        template: ``templates/<template>``, which renders to what is set, as JSON; in place of
            ``set``.
        given: what the template gets beside the variables, under this name.
        instead: paths of which the first that exists on the target is used in place of ``path``.
    """

    kind: Literal["merge"]
    set: dict[str, object] = Field(default_factory=dict)
    template: str = ""
    given: dict[str, str] = Field(default_factory=dict)
    instead: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _sets_something(self) -> Self:
        if bool(self.set) == bool(self.template):
            raise ValueError("a merge has either `set` or `template`")
        return self


class Package(Artifact):
    """A package from a package manager; ``version`` empty means any.

    Attributes:
        package: its name; for ``pi``, of npm, or a repository as pi spells it (``git:HOST/PATH``).
        folder: of ``pi``: pi's agent folder. Of ``npm``: the folder that the package goes below;
            empty is npm's own. No other manager has one.
        command: the program it brings; empty: of the package's name.
        version: what is installed where it is missing.
        least: the oldest version that will do. With it every newer one is left as it is, and an
            older program elsewhere on the PATH stays, and is no hindrance.
        unless: programs; where every launch finds one of them, the package is not brought.
        sudo: of ``apt``: not empty where a user who is not root may run it by ``sudo -n``.
    """

    kind: Literal["package"]
    manager: Manager
    package: str
    folder: str = ""
    command: str = ""
    version: str = ""
    least: str = ""
    unless: tuple[str, ...] = ()
    sudo: str = ""


class Compose(Artifact):
    """A compose file rendered from a template, and its project kept up.

    ``path`` is the compose file. ``env`` names a template for the ``.env`` file beside it, mode
    0600, which is the only place for secrets.
    """

    kind: Literal["compose"]
    template: str
    project: str
    env: str = ""


class Service(Artifact):
    """A unit rendered from a template, enabled and started. ``path`` is the unit file."""

    kind: Literal["service"]
    manager: Literal["systemd-user", "systemd", "launchd"]
    template: str
    unit: str


class Config(Artifact):
    """A configuration that its program checks before it replaces the good one, and then loads.

    Attributes:
        program: whose configuration it is.
        main: the file the program starts from, which includes this one or is it.
        load: how the running program takes it: ``systemd`` (its unit is reloaded, or started),
            ``own`` (the program's own reload), ``none`` (whoever keeps it does that).
    """

    kind: Literal["config"]
    template: str
    program: Literal["nginx", "caddy"]
    main: str
    load: str


AnyArtifact = Annotated[
    Observed | Link | Template | Copy | Tree | Merge | Package | Compose | Service | Config,
    Field(discriminator="kind"),
]


class Since(Spec):
    """What brought a capability: a toolkit commit, or a version of a program, and when."""

    commit: str = ""
    version: str = ""
    date: str = ""

    def __str__(self) -> str:
        head = self.commit or self.version
        return f"{head} ({self.date})" if head and self.date else head or self.date


class Marker(Spec):
    """Code that must (``all``) and must not (``none``) stand in an artifact.

    Not in a comment, not in prose. A marker that asserts nothing is refused.
    """

    artifact: str = Field(alias="in")
    all: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    none: tuple[Annotated[str, Field(min_length=1)], ...] = ()

    @model_validator(mode="after")
    def _asserts_something(self) -> Self:
        if not (self.all or self.none):
            raise ValueError("a marker needs words in `all` or `none`, or it asserts nothing")
        return self


class Gate(Spec):
    """One named question.

    Attributes:
        asks: the question as a sentence that is true when the gate passes.
        gives: the capability an inventory can require.
        able: what a copy with the capability can do, as in "cannot …"; empty: the capability.
        serves: capabilities that are worth nothing where this gate fails; it is required
            wherever one of them is.
        always: whether it is required wherever its system is deployed.
        where_seen: whether it is required wherever its answer could be seen; where it could not, it
            is required only as far as its capability is.
        needs: gates whose failure makes this one pointless to ask (it says so instead).
        check: the function in ``gates.py`` that answers, where no marker does.
        without: what it costs not to have it.
        source: where the rule comes from.
        kinds: the kinds of target it can be asked of; empty means all.
        deep: whether only what ``--deep`` runs can answer it; it is not asked without.
        fixed_by: artifacts that put it right when they are deployed (again); those of another
            system are named with it, as ``pi.node``.
    """

    id: GateId
    asks: str = ""
    gives: Name | None = None
    able: str = ""
    serves: tuple[Name, ...] = ()
    always: bool = False
    where_seen: bool = False
    severity: Severity = Severity.MAJOR
    marker: Marker | None = None
    check: str | None = None
    needs: tuple[GateId, ...] = ()
    since: Since | None = None
    without: str = ""
    remedy: str = ""
    source: str = ""
    kinds: tuple[Literal["host", "container", "image"], ...] = ()
    deep: bool = False
    fixed_by: tuple[Fix, ...] = ()


class Variable(Spec):
    """A variable that a system reads from the inventory.

    Attributes:
        default: used when the inventory says nothing; None means it stays undefined.
        env: the name under which it is exported to the launching shell, if it is.
        public: whether its value may leave a target.
        required: whether deploying or verifying makes no sense without it.
    """

    default: str | int | bool | None = None
    env: str = ""
    public: bool = False
    required: bool = False
    about: str = ""


class ProcessAsk(Spec):
    """Running processes to look for; the fields are those of ``ProcessQuestion``.

    Attributes:
        exports: whether every variable that the target's systems export is looked up as well.
    """

    words: tuple[str, ...] = Field(min_length=1)
    public: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ()
    comm: tuple[str, ...] = ()
    exports: bool = False


class Check(Spec):
    """A program's own check of its configuration; ``when`` as of an artifact."""

    words: tuple[str, ...] = Field(min_length=1)
    when: str | None = None


class Ask(Spec):
    """Further questions of a system's audit, beside its artifacts.

    Attributes:
        commands: programs to look up on the PATH of each launch, and how much to read of them.
        manifests: those of the commands whose nearest ``package.json`` is read too.
        versions: by command, the argument that makes it print its version; it is run with it.
        headers: by command, C headers that tell its version where nothing is run, by their path
            from the program's folder.
        packages: by command, the package of Debian and Alpine whose database tells it there.
        every: those of the commands of which every one on the PATH is told.
        beside: by command, files that are read beside its ``package.json``.
        processes: running processes, by the name gates ask for them.
        project: the compose project whose containers are looked at, rendered; empty for none.
        variables: environment names looked up in those containers, public values.
        secret_variables: of these only set or not, length and keyed digest travel.
        endpoint: the variable that holds the URL of a palace to ask; empty for none.
        token: the variable that holds the token to ask it with.
        places: where the endpoint is asked from.
        interfaces: whether the addresses of network interfaces are told; the name of one: only
            where that one is there.
        crontab: a word to look for in the user's crontab; empty: not asked.
        checks: programs' own checks of their configuration, by the name gates ask for them: the
            program and its arguments, rendered. They are run, so they must change nothing.
        direct: the variable with a URL of the same palace that passes no proxy; it is asked from
            the target only.
        routes: paths of the server that are asked for beside the endpoint.
        strangers: whether the server is asked as a foreign site and by a foreign name too.
        layers: whether an image is searched for secrets.
    """

    commands: dict[str, Read] = Field(default_factory=dict)
    manifests: tuple[str, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    headers: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    packages: dict[str, str] = Field(default_factory=dict)
    every: tuple[str, ...] = ()
    beside: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    listeners: bool = False
    interfaces: bool | str = False
    processes: dict[Name, ProcessAsk] = Field(default_factory=dict)
    project: str = ""
    variables: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ()
    endpoint: str = ""
    token: str = ""
    places: tuple[Literal["controller", "target"], ...] = ("target",)
    crontab: str = ""
    checks: dict[Name, Check] = Field(default_factory=dict)
    direct: str = ""
    routes: tuple[str, ...] = ()
    strangers: bool = False
    layers: bool = False


class System(Spec):
    """One deployable thing and all that is known of it.

    Attributes:
        after: systems that are deployed before it where a target has them too.
    """

    system: Name
    about: str
    after: tuple[Name, ...] = ()
    variables: dict[str, Variable] = Field(default_factory=dict)
    artifacts: dict[Name, AnyArtifact] = Field(default_factory=dict)
    ask: Ask = Field(default_factory=Ask)
    gates: tuple[Gate, ...] = ()
