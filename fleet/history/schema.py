"""The tables of a history, and how an older file is brought to them."""

APPLICATION = 0x666C6565  # "flee", what `file` and sqlite show of whose database it is

#: Each step brings a file from the version before to its own number, counted from 1. A step that
#: was released is never edited: a change is a further step.
STEPS: tuple[str, ...] = (
    # 1: runs, results, findings, and what they consist of by content
    """
    CREATE TABLE blob (
      id INTEGER PRIMARY KEY,
      hash BLOB NOT NULL UNIQUE,
      base INTEGER REFERENCES blob (id),
      size INTEGER NOT NULL,
      data BLOB NOT NULL
    );
    CREATE TABLE target (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE run (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      command TEXT NOT NULL,
      started INTEGER NOT NULL,
      finished INTEGER NOT NULL,
      strict INTEGER NOT NULL,
      fleet TEXT NOT NULL,
      gates INTEGER REFERENCES blob (id),
      drift INTEGER REFERENCES blob (id),
      volatile INTEGER REFERENCES blob (id)
    );
    CREATE INDEX run_by_start ON run (started);
    CREATE TABLE finding (
      id INTEGER PRIMARY KEY,
      body INTEGER NOT NULL UNIQUE REFERENCES blob (id),
      gate TEXT NOT NULL,
      verdict TEXT NOT NULL,
      required INTEGER NOT NULL
    );
    CREATE TABLE findings (
      id INTEGER PRIMARY KEY,
      list INTEGER NOT NULL UNIQUE REFERENCES blob (id),
      counts TEXT NOT NULL
    );
    CREATE TABLE result (
      run INTEGER NOT NULL REFERENCES run (id),
      place INTEGER NOT NULL,
      target INTEGER NOT NULL REFERENCES target (id),
      moment INTEGER NOT NULL,
      fleetwide INTEGER NOT NULL,
      about INTEGER REFERENCES blob (id),
      facts INTEGER REFERENCES blob (id),
      contents INTEGER REFERENCES blob (id),
      findings INTEGER NOT NULL REFERENCES findings (id),
      trouble INTEGER REFERENCES blob (id),
      milliseconds INTEGER NOT NULL,
      PRIMARY KEY (run, place)
    ) WITHOUT ROWID;
    CREATE INDEX result_by_target ON result (target, moment);
    """,
    # 2: who ran it, what it came to, what was changed, what lay there as a reader names it; and
    #    counts by content (`tally`), which many lists share
    """
    ALTER TABLE run ADD COLUMN who TEXT NOT NULL DEFAULT '';
    ALTER TABLE run ADD COLUMN host TEXT NOT NULL DEFAULT '';
    ALTER TABLE run ADD COLUMN code INTEGER;
    ALTER TABLE run ADD COLUMN reason TEXT NOT NULL DEFAULT '';
    ALTER TABLE result ADD COLUMN pieces INTEGER REFERENCES blob (id);
    ALTER TABLE findings ADD COLUMN tally INTEGER REFERENCES blob (id);
    CREATE TABLE action (
      run INTEGER NOT NULL REFERENCES run (id),
      place INTEGER NOT NULL,
      target INTEGER NOT NULL REFERENCES target (id),
      changed INTEGER NOT NULL,
      steps INTEGER NOT NULL REFERENCES blob (id),
      PRIMARY KEY (run, place)
    ) WITHOUT ROWID;
    CREATE INDEX action_by_target ON action (target);
    """,
)
VERSION = len(STEPS)
