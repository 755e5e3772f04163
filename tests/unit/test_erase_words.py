"""The command ``erase`` says of which records it knows whether rows are left."""

import pytest

from cli.erase import _show
from svc_pg.audit import ErasureReport

LOG_ALONE = "still in public.t, as the log knows it: this erases the log alone\n"
DELETE = "Delete the rows first, and erase then: their deletion or change is recorded again.\n"
OTHERS = "among the first 1,000 of its records; rows of the others may be left too.\n"


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (ErasureReport(), ""),
        (ErasureReport(is_partial=True), f"No row is left {OTHERS}"),
        (ErasureReport(rows_left={"public.t": 1000}), f"1,000 rows are {LOG_ALONE}{DELETE}"),
        (ErasureReport(rows_left={"public.t": 1}, is_partial=True), f"1 row is {LOG_ALONE}These are {OTHERS}{DELETE}"),
    ],
)
def test_it_is_never_silent_about_records_that_it_did_not_look_for(
    report: ErasureReport, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _show(report, "erasing")
    assert capsys.readouterr().err == words
