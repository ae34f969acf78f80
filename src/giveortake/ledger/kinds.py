"""What each kind of entry adds to a book: one function a kind, each given the entry's number and its content.

They decide nothing: an entry that does not follow from those before it is LedgerDamaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from giveortake.errors import LedgerDamaged, LedgerTooNew
from giveortake.ledger.allotments import charged_for, larger
from giveortake.ledger.digests import approval_digest, approval_digests
from giveortake.ledger.entries import FORMAT, RESTORE, UPGRADE
from giveortake.ledger.levels import FAILURES, DataSet, Grant, Level, Requested, Token
from giveortake.ledger.promises import promise_from_json
from giveortake.privacy import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.ledger.book import Book
    from giveortake.ledger.levels import Reserved
    from giveortake.privacy import Neighbours

Content: TypeAlias = "Mapping[str, Any]"

DONE = 200  # closed requests of each analyst that a book remembers


def _ledger(book: Book, _number: int, content: Content) -> None:
    if content["format"] != FORMAT:
        raise LedgerTooNew(f"this giveortake does not know the format {content['format']!r}", hint=UPGRADE)
    book.ledger = content["ledger"]


def _population(book: Book, number: int, content: Content) -> None:
    book.populations[content["name"]] = _level(book, number, "population", content, content["budget"]["neighbours"])


def _dataset(book: Book, number: int, content: Content) -> None:
    level = _level(book, number, "data set", content, book.populations[content["population"]].neighbours)
    book.datasets[content["name"]] = DataSet(
        level,
        content["population"],
        level.unit,
        content["rows_per_person"],
        content["domains"],
        [],
    )
    _version(book, number, content)


def _declared(book: Book, number: int, content: Content) -> None:
    book.datasets[content["name"]].domains = content["domains"]
    _version(book, number, content)


def _version(book: Book, _number: int, content: Content) -> None:
    book.datasets[content["name"]].versions.append((content["version"], content["fingerprint"]))
    if content["fingerprint"] is not None:
        book.fingerprints.setdefault(content["fingerprint"], content["name"])


def _analyst(book: Book, number: int, content: Content) -> None:
    datasets = tuple(content["datasets"])
    level = _level(book, number, "analyst", content, book.datasets[datasets[0]].level.neighbours)
    book.grants[content["name"], datasets] = Grant(level, content["name"], datasets)
    _allot(book, level, content)


def _allot(book: Book, level: Level, content: Content) -> None:
    """Count what a grant takes from the levels above it."""
    assert level.budget is not None or "above" not in content  # noqa: S101 (what takes nothing has no budget)
    for above, taken in content.get("above", {}).items():
        giver = book.levels[int(above)]
        giver.allotments[level.number] = larger(giver.allotments.get(level.number), level.budget)  # type: ignore[arg-type]  # (see above)
        if "rest" in taken:
            giver.guarded, giver.initial = promise_from_json(taken["rest"]), taken["filter"]
        else:
            giver.granted[level.number] = taken["event"]
            giver.charged = True


def _revoked(book: Book, _number: int, content: Content) -> None:
    book.revoked.add(content["analyst"])


def _readmitted(book: Book, _number: int, content: Content) -> None:
    book.revoked.discard(content["analyst"])


def _reserved(book: Book, number: int, content: Content) -> None:
    reserved = book.reserved_as(number, content)
    if content["key"] is not None:
        _note_key(book, number, "key", content)
    book.remember(reserved)
    book.note(number, "id", reserved.id)
    book.asked += 1
    for level in reserved.levels:
        book.levels[level].charged = True
    if reserved.answer is None:
        for level in reserved.own:
            book.levels[level].asked += 1
        if reserved.question is not None:
            book.note(number, "asked", content["analyst"], reserved.question)
    elif reserved.question is not None:
        payer = _payer(book, reserved)
        if book.first("paid", payer, reserved.question) is None:
            raise LedgerDamaged(f"entry {number} gives out an answer that is not there", hint=RESTORE)
        if reserved.levels:
            book.note(number, "paid", payer, reserved.question)
    for name in approval_digests(content) if book.requests else ():
        if (request := book.requests.pop(name, None)) is not None:
            request.state = "used"
            _forget_requests(book, request.analyst)
    if isinstance(content["request"], dict) and "profile" in content["request"]:
        book.note(number, "profile", content["dataset"])


def _alias(book: Book, number: int, content: Content) -> None:
    """Count a further key for a release that is paid and answered as one question; it charges nothing."""
    analyst, reserved = content["analyst"], book.reservations[book.ids[content["release"]]]
    if reserved.answer is None or _payer(book, reserved) not in {None, analyst}:
        raise LedgerDamaged(f"entry {number} gives out an answer that is not there", hint=RESTORE)
    _note_key(book, number, "alias", content)
    book.note(number, "aliased", analyst, reserved.id)
    for level in book.askers(analyst, reserved.dataset):
        level.asked += 1


def _note_key(book: Book, number: int, kind: str, content: Content) -> None:
    name = content["analyst"], content["key"]
    if name in book.keys or name in book.aliases:
        raise LedgerDamaged(f"entry {number} uses an idempotency key twice", hint=RESTORE)
    book.note(number, kind, *name)


def _payer(book: Book, reserved: Reserved) -> str | None:
    """Who may see a stored answer: where analysts have allotments, only who paid for it; else everybody."""
    return reserved.analyst if book.populations[book.datasets[reserved.dataset].population].allotted else None


def _settled(book: Book, number: int, content: Content) -> None:
    reserved = book.reservations.get(content["reservation"])
    if reserved is None or reserved.answer is not None:
        raise LedgerDamaged(f"entry {number} settles what is not waiting for an answer", hint=RESTORE)
    book.note(number, "settled", reserved.number)
    book.remember_settlement(number, reserved.number)
    if reserved.question is not None:
        payer = _payer(book, reserved)
        if book.first("paid", payer, reserved.question) is None:
            book.note(number, "paid", payer, reserved.question)


def _drawn(book: Book, number: int, content: Content) -> None:
    reserved, place = book.reservations.get(content["reservation"]), content["place"]
    if reserved is None or reserved.answer is not None or not book.is_next(reserved.number, place):
        raise LedgerDamaged(f"entry {number} was drawn for what is not waiting for it", hint=RESTORE)
    book.note(number, "drawn", reserved.number, place)
    for level in reserved.own:
        book.levels[level].steps += 1


def _failed(book: Book, number: int, content: Content) -> None:
    reserved = book.reservations[content["reservation"]]
    if not reserved.failed and reserved.answer is None:  # else it was answered, and its asker was told of a failure
        book.note(number, "failed", reserved.number)
    _count_failure(book, reserved)


def _defect(book: Book, number: int, content: Content) -> None:
    """Count a failure that no limit explains: its asker observes no other until the custodian has looked."""
    _failed(book, number, content)
    reserved = book.reservations[content["reservation"]]
    for level in reserved.own:
        book.levels[level].defects += 1
        book.levels[level].stopped = True
    for grant in () if reserved.analyst is None else book.grants_of(reserved.analyst):
        grant.level.stopped = True  # of other data sets too: the mistake may tell of the same people there


def _repeated(book: Book, _number: int, content: Content) -> None:
    _count_failure(book, book.reservations[content["reservation"]])


def _count_failure(book: Book, reserved: Reserved) -> None:
    for level in reserved.own:
        book.levels[level].failed += 1
        book.levels[level].failed_ever += 1


def _forgiven(book: Book, _number: int, content: Content) -> None:
    book.levels[content["level"]].failed = 0
    book.levels[content["level"]].stopped = False


def _requested(book: Book, number: int, content: Content) -> None:
    new = Requested(number, content["id"], approval_digest(content), content["analyst"])
    book.requests[new.digest] = book.requests_by_id[new.id] = new
    _forget_requests(book, new.analyst)


def _forget_requests(book: Book, analyst: str | None) -> None:
    """Keep an analyst's last closed requests (used, or asked for anew), however many others have."""
    own = (each for each in book.requests_by_id.values() if each.analyst == analyst)
    done = [each for each in own if book.requests.get(each.digest) is not each]
    if len(done) > DONE:
        del book.requests_by_id[done[0].id]


def _approved(book: Book, number: int, content: Content) -> None:
    request = book.requests[content["request"]]
    request.state, request.decision, request.expires = "approved", number, content.get("expires")


def _denied(book: Book, number: int, content: Content) -> None:
    request = book.requests[content["request"]]
    request.state, request.decision, request.expires = "denied", number, None


def _token(book: Book, number: int, content: Content) -> None:
    if content["id"] in book.tokens:
        raise LedgerDamaged(f"entry {number} issues a token twice", hint=RESTORE)
    book.tokens[content["id"]] = Token(number, content["id"], content["analyst"], content["hash"], content["expires"])


def _withdrawn(book: Book, _number: int, content: Content) -> None:
    book.tokens[content["token"]].revoked = True


def _budget(book: Book, _number: int, content: Content) -> None:
    level = book.levels[content["level"]]
    level.budget = promise_from_json(content["budget"])
    level.guarded, level.initial = level.budget, content["filter"]
    level.closed = None
    if "rest" in content:
        level.guarded, level.granted = promise_from_json(content["rest"]), {}
    else:
        level.granted = charged_for(level)
        level.charged |= bool(level.granted)
    _allot(book, level, content)


def _checkpoint(book: Book, _number: int, _content: Content) -> None:
    """Add nothing: a checkpoint repeats what the entries before it say (see `checkpoints`)."""


def _moved(_book: Book, _number: int, _content: Content) -> None:
    """Add nothing: the state folder says where the ledger lies."""


def _restored(book: Book, number: int, content: Content) -> None:
    for level in content["closed"]:
        book.levels[level].closed = number
    book.restored = number
    for charged in map(int, content["levels"]):
        book.levels[charged].charged = True
    if content["event"] is None:
        book.lost = number


def _level(book: Book, number: int, kind: str, content: Content, neighbours: Neighbours) -> Level:
    budget, approval = content["budget"], content["approval_above"]
    level = Level(
        number,
        kind,
        content["name"],
        Unit(content["unit"]),
        neighbours,
        None if budget is None else promise_from_json(budget),
        None if approval is None else promise_from_json(approval),
        closed=None if budget is None else book.lost,
        allotted=content.get("analysts") == "allotted",
        initial=content.get("filter"),
        failures=content.get("failures", FAILURES),
        questions=content.get("questions"),
    )
    level.guarded = level.budget
    book.levels[number] = level
    return level


KINDS: dict[str, Callable[[Book, int, Content], None]] = {
    "alias": _alias,
    "analyst": _analyst,
    "approved": _approved,
    "budget": _budget,
    "checkpoint": _checkpoint,
    "dataset": _dataset,
    "declared": _declared,
    "defect": _defect,
    "denied": _denied,
    "drawn": _drawn,
    "failed": _failed,
    "forgiven": _forgiven,
    "ledger": _ledger,
    "moved": _moved,
    "population": _population,
    "readmitted": _readmitted,
    "repeated": _repeated,
    "requested": _requested,
    "reserved": _reserved,
    "restored": _restored,
    "revoked": _revoked,
    "settled": _settled,
    "token": _token,
    "version": _version,
    "withdrawn": _withdrawn,
}
