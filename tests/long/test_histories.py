"""The random histories of tests/property, many more of them: what is by hand, who is let in, what is deleted."""

from __future__ import annotations

import os

import pytest

from tests.property import test_by_hand, test_other_files, test_rights, test_topic_ends

HISTORIES = int(os.environ.get("HISTORIES", "30000"))


@pytest.mark.timeout(1800)
def test_many_histories_of_settings_rights_and_deletions() -> None:
    test_by_hand.test_nothing_set_by_hand_is_lost_and_the_rest_follows_the_source(HISTORIES)
    test_by_hand.test_where_names_stay_both_ways_a_change_on_either_side_reaches_the_other(HISTORIES)
    test_rights.test_the_mirror_lets_nobody_in_whom_the_source_does_not(HISTORIES)
    test_topic_ends.test_nothing_is_deleted_that_somebody_else_still_has(HISTORIES)


@pytest.mark.timeout(1800)
def test_many_histories_of_files_that_change() -> None:
    test_other_files.test_under_other_files_nobody_is_let_in_to_records_of_others(HISTORIES)
    test_other_files.test_under_other_files_nothing_set_by_hand_is_lost(HISTORIES)
    test_other_files.test_under_other_files_nothing_is_deleted_that_others_still_have(HISTORIES)
