"""A coordination log in memory that answers `mempalace_event_list` as mempalace does."""

from __future__ import annotations

from support.http import Json, RecordingMcpServer

TEXT: Json = {"type": "string"}
#: What the tool declares, by the release that brought it.
FILTERS_3_8 = ("to_agent", "from_agent", "status", "since_event_id")
FILTERS_3_11 = (*FILTERS_3_8, "writer", "order")
BODY_EXCERPT = 200


class EventLog:
    """Events in the order of their arrival.

    Args:
        events: what is there already; the fields that an event leaves out are filled in.
        kind: `3.8` filters by `from_agent`; in `3.11` that says who asks, and `writer` filters;
            `unfiltered` is what a release may come to be that knows neither.
    """

    def __init__(self, events: list[Json] | None = None, *, kind: str = "3.11") -> None:
        self.events: list[Json] = []
        self.kind = kind
        for event in events or []:
            self.add(event)

    def add(self, event: Json) -> Json:
        """Append an event, as `mempalace_event_append` does."""
        number = len(self.events) + 1
        base: Json = {
            "id": f"evt_{number}",
            "seq": number,
            "hlc": None,
            "type": "task.request",
            "stream": "project/x",
            "room": "delegation",
            "from_agent": "pi@other",
            "to_agent": None,
            "status": None,
            "correlation_id": None,
            "body": "",
            "created_at": "2026-08-26T10:00:00Z",
            "metadata": {},
        }
        self.events.append({**base, **event})
        return {"success": True, "event": self.events[-1]}

    def answer(self, args: Json) -> Json:
        """Answer one call of `mempalace_event_list`."""
        found = list(self.events) if self.kind == "unfiltered" else self._matching(args)
        if "since_event_id" in args:
            ids = [e["id"] for e in self.events]
            if args["since_event_id"] not in ids:
                return {"error": "since_event_id not found"}
            passed = ids.index(args["since_event_id"])
            found = [e for e in found if ids.index(e["id"]) > passed]
        elif self.kind == "3.11" and args.get("order") != "asc":
            found.reverse()
        limit = args.get("limit", 50)
        assert isinstance(limit, int)
        page = [_excerpt(e) if args.get("preview") else e for e in found[:limit]]
        return {"events": page, "count": len(page)}

    def _matching(self, args: Json) -> list[Json]:
        writer = args.get("writer" if self.kind == "3.11" else "from_agent")
        found = [e for e in self.events if writer in (None, e["from_agent"])]
        if args.get("to_agent") is not None:
            found = [e for e in found if e["to_agent"] in (args["to_agent"], "*")]
        if args.get("status") is not None:
            found = [e for e in found if e["status"] == args["status"]]
        return found

    def serve(self, *more: Json) -> RecordingMcpServer:
        """Return a server that offers this log, and the tools of `more`."""
        filters = FILTERS_3_11 if self.kind == "3.11" else FILTERS_3_8
        properties = {
            **dict.fromkeys(filters, TEXT),
            "limit": {"type": "integer"},
            "preview": {"type": "boolean"},
        }
        names = ("status", "diary_read", "event_append")
        tools: list[Json] = [
            {"name": f"mempalace_{name}", "inputSchema": {"type": "object"}} for name in names
        ]
        listing: Json = {
            "name": "mempalace_event_list",
            "inputSchema": {"type": "object", "properties": properties},
        }
        answers = {"mempalace_event_list": self.answer, "mempalace_event_append": self.add}
        return RecordingMcpServer([*tools, listing, *more], answers=answers)


def _excerpt(event: Json) -> Json:
    body = str(event["body"])
    if len(body) <= BODY_EXCERPT:
        return event
    return {**event, "body": body[:BODY_EXCERPT], "body_truncated": True}
