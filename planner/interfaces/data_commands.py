"""Commands that look at the data: the catalog and the rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option, Typer

from planner.errors import nearest
from planner.interfaces import faults
from planner.interfaces.diagnose_command import rules_graph
from planner.interfaces.group import HouseGroup
from planner.interfaces.options import Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, message
from planner.interfaces.rules_export_command import rules_export
from planner.loaders.files_out import check_target

catalog_app = Typer(cls=HouseGroup, rich_markup_mode=None, no_args_is_help=True)
rules_app = Typer(cls=HouseGroup, rich_markup_mode=None, no_args_is_help=True)

CATALOG_COLUMNS = ("id", "kind", "name", "aliases")
RULE_COLUMNS = ("id", "kind", "layer", "effect", "title")

EntryId = Annotated[str, Argument(metavar="ID", help="Id or alias.")]


def _checked(command: str, catalog: list[Path] | None) -> tuple[Path, ...]:
    checks = Checks(command)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    return overlays


def _list(answer: Answer, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    from planner.report import catalog_text, json_document

    answer.give(lambda: json_document.encode(rows), lambda: catalog_text.listing_view(rows, columns))
    raise Exit(faults.ANSWERED)


def _show(answer: Answer, entry: dict[str, Any]) -> None:
    from planner.report import catalog_text, json_document

    answer.give(lambda: json_document.encode(entry), lambda: catalog_text.entry_view(entry))
    raise Exit(faults.ANSWERED)


def _check(answer: Answer, what: str, counts: dict[str, Any]) -> None:
    from planner.report import catalog_text, json_document

    answer.give(lambda: json_document.encode(counts), lambda: catalog_text.check_view(what, counts))
    raise Exit(faults.ANSWERED)


@catalog_app.command("list")
def catalog_list(
    kind: Annotated[str | None, Option(metavar="KIND", help="Only this kind, such as model.")] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """List ids, names and aliases."""
    overlays, answer = _checked("planner catalog list", catalog), Answer(as_json=as_json, out=out)
    from planner.app import data as data_case

    _list(answer, data_case.catalog_list(overlays, kind=kind), CATALOG_COLUMNS)


@catalog_app.command("show")
def catalog_show(
    entry_id: EntryId, as_json: JsonFlag = False, out: OutFile = None, catalog: Overlays = None
) -> None:
    """Show the facts of one entry."""
    overlays, answer = _checked("planner catalog show", catalog), Answer(as_json=as_json, out=out)
    from planner.app import data as data_case

    _show(answer, data_case.catalog_show(entry_id, overlays))


@catalog_app.command("check")
def catalog_check(as_json: JsonFlag = False, out: OutFile = None, catalog: Overlays = None) -> None:
    """Read every entry and show all faults at once."""
    overlays, answer = _checked("planner catalog check", catalog), Answer(as_json=as_json, out=out)
    from planner.app import data as data_case

    _check(answer, "catalog", data_case.catalog_check(overlays))


@catalog_app.command("add-model")
def catalog_add_model(
    source: Annotated[Path, Argument(metavar="SOURCE", help="A config.json, or the folder that holds one.")],
    model_id: Annotated[
        str | None, Option("--id", metavar="ID", help="Id of the new entry; default: from the folder's name.")
    ] = None,
    out: Annotated[Path | None, Option(metavar="FILE", help="Where to write the entry (YAML).")] = None,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Make a catalog entry from a model's published configuration."""
    overlays = _checked("planner catalog add-model", catalog)
    if out is not None:
        check_target("--out", out)
    from planner.app import data as data_case

    document = data_case.add_model(source, model_id=model_id, out=out, overlays=overlays)
    if document.get("path"):
        message(f"planner: wrote {document['path']}")
    _show(Answer(as_json=as_json), document)


@catalog_app.command("new")
def catalog_new(
    kind: Annotated[str, Argument(metavar="KIND", help="accelerator, model, engine or prices.")],
    new_id: Annotated[
        str | None, Option("--id", metavar="ID", help="Id of the new entry; default: my-KIND.")
    ] = None,
    like: Annotated[
        str | None, Option(metavar="ID", help="Entry whose numbers it starts with; default: a common one.")
    ] = None,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Where to write it: ID.yaml, or a catalog folder.")
    ] = None,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Begin an entry of your own: a commented file to fill in."""
    overlays = _checked("planner catalog new", catalog)
    from planner.app import catalog_new as new_case
    from planner.report import json_document

    found = new_case.catalog_new(kind, new_id=new_id, like=like, out=out, overlays=overlays)
    if found["path"]:
        message(f"planner: wrote {found['path']}")
    if as_json or not found["path"]:
        # Not as a page: that would wrap lines of YAML.
        Answer(as_json=True).give(
            lambda: json_document.encode(found) if as_json else found["text"].encode(), lambda: ""
        )
    raise Exit(faults.ANSWERED)


@catalog_app.command("import-prices")
def catalog_import_prices(
    files: Annotated[list[Path], Argument(metavar="FILE...", help="Price lists as CSV tables.")],
    out: Annotated[Path, Option(metavar="DIR", help="Catalog folder to write to; use it with --catalog.")],
    columns: Annotated[
        list[str] | None,
        Option("--map", metavar="KEY=COLUMN", help="Column of your own sheet, such as gpu=Card. May repeat."),
    ] = None,
    gpus: Annotated[
        list[str] | None,
        Option("--gpu", metavar="NAME=ID", help="Accelerator that a name in the sheet means. May repeat."),
    ] = None,
    provider: Annotated[
        str | None,
        Option(metavar="ID", help="Provider; default: vms.csv has its folder's name, others theirs."),
    ] = None,
    as_of: Annotated[
        str | None,
        Option("--date", metavar="DATE", help="When these prices held: 2026-11-23, 2026-11 or 2026."),
    ] = None,
    source: Annotated[str | None, Option(metavar="TEXT", help="Who states them; default: the file.")] = None,
    marketplace: Annotated[
        bool, Option("--marketplace", help="Hosts of others: bought only where fleet.providers names it.")
    ] = False,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Take price lists of the SkyPilot catalog, or your own sheet, into a catalog folder."""
    checks = Checks("planner catalog import-prices")
    overlays = checks.folders("--catalog", catalog)
    from planner.loaders.price_sheets import KEYS
    from planner.schema.catalog_entry import DAY, last_day

    named = _pairs(checks, "--map", columns, KEYS)
    meant = _pairs(checks, "--gpu", gpus)
    try:
        last_day(as_of or "2026")
    except ValueError:
        checks.refuse("--date", f'"{as_of}"', DAY)
    checks.done()
    from planner.app import import_prices as import_case
    from planner.report import catalog_text, json_document

    found = import_case.import_prices(
        files,
        out,
        columns=named,
        gpus=meant,
        provider=provider,
        as_of=as_of,
        source=source,
        marketplace=marketplace,
        overlays=overlays,
    )
    Answer(as_json=as_json).give(lambda: json_document.encode(found), lambda: catalog_text.import_view(found))
    raise Exit(faults.ANSWERED)


def _pairs(
    checks: Checks, flag: str, texts: list[str] | None, known: Sequence[str] | None = None
) -> dict[str, str]:
    """``KEY=VALUE`` of an option that may repeat."""
    found: dict[str, str] = {}
    for text in texts or ():
        key, _, value = text.partition("=")
        if not key or not value:
            checks.refuse(flag, f'"{text}"', "KEY=COLUMN" if known else "NAME=ID")
        elif known is not None and key not in known:
            checks.refuse(flag, f'"{key}"', f"one of {', '.join(known)}", nearest(key, known))
        else:
            found[key] = value
    return found


@rules_app.command("list")
def rules_list(as_json: JsonFlag = False, out: OutFile = None, catalog: Overlays = None) -> None:
    """List the rules."""
    overlays, answer = _checked("planner rules list", catalog), Answer(as_json=as_json, out=out)
    from planner.app import rules as rules_case

    _list(answer, rules_case.rules_list(overlays), RULE_COLUMNS)


@rules_app.command("show")
def rules_show(
    rule_id: EntryId, as_json: JsonFlag = False, out: OutFile = None, catalog: Overlays = None
) -> None:
    """Show one rule."""
    overlays, answer = _checked("planner rules show", catalog), Answer(as_json=as_json, out=out)
    from planner.app import rules as rules_case

    rule = rules_case.rules_show(rule_id, overlays)
    if rule["kind"] == "planning":
        _show(answer, rule)
    from planner.report import json_document, rule_text

    answer.give(lambda: json_document.encode(rule), lambda: rule_text.view(rule))
    raise Exit(faults.ANSWERED)


@rules_app.command("check")
def rules_check(as_json: JsonFlag = False, out: OutFile = None, catalog: Overlays = None) -> None:
    """Read every rule, check how they hang together, and show all faults at once."""
    overlays, answer = _checked("planner rules check", catalog), Answer(as_json=as_json, out=out)
    from planner.app import rules as rules_case

    _check(answer, "rules", rules_case.rules_check(overlays))


rules_app.command("graph")(rules_graph)
rules_app.command("export")(rules_export)
