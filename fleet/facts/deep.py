"""What a deep check saw: the target's own pi, run against a scratch palace and a fake model.

Plain data, bounded; ``fleet/probes/deep`` brings it. Paths in the copied agent folder are told as
those of the original, and ``<scratch>`` stands for the check's own folder.
"""

from typing import Annotated, Literal

from pydantic import Field

from fleet.facts.base import Fact

MOST = 200
Text = Annotated[str, Field(max_length=2000)]
Word = Annotated[str, Field(max_length=200)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Texts = Annotated[tuple[Text, ...], Field(max_length=MOST)]
Words = Annotated[tuple[Word, ...], Field(max_length=MOST)]
Tools = Annotated[dict[Word, Words], Field(max_length=MOST)]
Owners = Annotated[dict[Word, Text], Field(max_length=MOST)]
Arguments = Annotated[dict[Word, Text], Field(max_length=MOST)]

RunName = Literal["healthy", "again", "local", "dead", "refused", "silent"]


class DeepCall(Fact):
    """A tool call that reached the scratch palace; ``refused`` is the palace's reason."""

    name: Word
    arguments: Arguments = Field(default_factory=dict)
    refused: Text | None = None


class DeepPreparation(Fact):
    """One start of the session helper; ``source`` is what it told to mine."""

    status: int
    words: Text = ""
    source: Text = ""


class DeepMail(Fact):
    """What became of the event that was addressed to the device."""

    sent: bool = False
    delivered: bool = False
    replied: bool = False


class DeepRun(Fact):
    """One run of pi.

    Attributes:
        name: ``healthy`` (the palace answers), ``again`` (the next session with the same agent
            folder), ``local`` (over stdio), ``dead`` (nothing listens), ``refused`` (401) or
            ``silent`` (it never answers).
        local: whether the palace was offered over stdio.
        status: pi's exit status; None when it was ended by force or could not be started.
        late: whether it was ended by force.
        stage: the last event that pi fired; ``loading`` before the first.
        requests: requests that reached the model.
        answered: whether pi printed the model's answer.
        tools: palace tools declared to the model, with their parameter names.
        others: how many further tools were declared.
        owners: which file registered each of the palace tools.
        wakeup: what was put before the model beside the prompt.
        named: whether that names the scratch palace's path.
        methods: what the palace was asked, each once.
        started_local: whether a local palace was started.
        said: the end of pi's stderr.
    """

    name: RunName
    local: bool = False
    status: int | None = None
    late: bool = False
    error: Text = ""
    milliseconds: Count = 0
    stage: Word = ""
    stages: Words = ()
    requests: Count = 0
    answered: bool = False
    tools: Tools = Field(default_factory=dict)
    others: Count = 0
    owners: Owners = Field(default_factory=dict)
    wakeup: Text = ""
    named: bool = False
    methods: Words = ()
    calls: Annotated[tuple[DeepCall, ...], Field(max_length=MOST)] = ()
    started_local: bool = False
    prepared: Annotated[tuple[DeepPreparation, ...], Field(max_length=MOST)] = ()
    mail: DeepMail = Field(default_factory=DeepMail)
    said: Texts = ()


class DeepExtension(Fact):
    """An extension as pi's own loader tells it."""

    path: Text
    target: Text = ""
    events: Words = ()
    tools: Words = ()
    commands: Words = ()


class DeepError(Fact):
    """Why pi's own loader did not load an extension."""

    path: Text = ""
    error: Text


class DeepTrial(Fact):
    """A server that was started, or asked, as a client's files declare it.

    Attributes:
        key: which one, as its system names it.
        state: ``answered`` an ``initialize`` (or, of opencode itself, told its configuration),
            ``failed``, or ``untried``; ``why`` tells.
        status: the exit status of a program that ended, or that of HTTP.
        server: how it calls itself.
        said: the beginning of its stderr.
        resolved: of opencode: what its entry comes to, without what could be a credential.
    """

    key: Word
    state: Literal["answered", "failed", "untried"]
    why: Text = ""
    status: int | None = None
    server: Word = ""
    version: Word = ""
    said: Texts = ()
    resolved: Arguments = Field(default_factory=dict)
    milliseconds: Count = 0


class DeepFact(Fact):
    """A deep check of one target.

    Attributes:
        state: ``unsupported`` when pi could not be run like this here; ``why`` tells.
        launch: the way of launching pi that it ran in.
        agent_dir: the agent folder that was copied.
        known_events: the events that this pi fires; empty where its declarations are not found.
        listed: whether pi's own loader could be asked for ``extensions`` and ``errors``.
        palace: the path by which the scratch palace calls itself.
        offered: the palace's tools, with their parameter names.
        device: the device's name in the runs; empty when the target sets none.
        identity: ``own`` when URL and device are set as the target sets them, ``assumed`` when it
            sets neither, or is an image.
        patience: milliseconds after which a run of pi counts as hanging, on this machine.
        unset: names of variables that the launch does not set.
        trials: servers that were tried, whether or not pi could be run.
        escaped: processes that left their group and were ended all the same.
    """

    state: Literal["ran", "unsupported"]
    why: Text = ""
    launch: Text = ""
    node: Text = ""
    node_version: Word = ""
    pi: Text = ""
    pi_version: Word = ""
    agent_dir: Text = ""
    known_events: Words = ()
    listed: bool = False
    extensions: Annotated[tuple[DeepExtension, ...], Field(max_length=MOST)] = ()
    errors: Annotated[tuple[DeepError, ...], Field(max_length=MOST)] = ()
    palace: Text = ""
    offered: Tools = Field(default_factory=dict)
    device: Word = ""
    identity: Literal["own", "assumed"] = "own"
    patience: Count = 0
    unset: Words = ()
    runs: Annotated[tuple[DeepRun, ...], Field(max_length=MOST)] = ()
    trials: Annotated[tuple[DeepTrial, ...], Field(max_length=MOST)] = ()
    escaped: Count = 0
    milliseconds: Count = 0

    def hangs(self, run: DeepRun) -> bool:
        """Tell whether a run was ended because it hung, and not because time was up."""
        return run.late and run.milliseconds >= self.patience

    def trial(self, key: str) -> DeepTrial | None:
        """Return a trial by key; None when it did not take place."""
        return next((trial for trial in self.trials if trial.key == key), None)

    def run(self, name: RunName) -> DeepRun | None:
        """Return a run by name; None when it did not take place."""
        return next((run for run in self.runs if run.name == name), None)
