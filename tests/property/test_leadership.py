"""Leases of a driver that can't write that it leads are over when another may write, whatever it reads meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.control.lead import LOOK_EVERY_S
from sparkmirror.control.leadership import is_vacant, leases_end_s, longest_lease_s, term_s, unguarded_s
from sparkmirror.offsets.claims import Leadership
from sparkmirror.pipeline.lease_table import MARGIN_S

LEASES = st.floats(0.5, 600)
SECONDS = st.floats(0, 3000)


@given(lease_s=LEASES, others_lease_s=LEASES, heard_at=SECONDS, granted_at=SECONDS, unread_s=SECONDS)
def test_leases_are_over_before_another_leads_or_writes_unguarded(
    lease_s: float, others_lease_s: float, heard_at: float, granted_at: float, unread_s: float
) -> None:
    """Times count from when the driver asked for its last record that was acknowledged."""
    record = Leadership(3, "d", False, longest_s=leases_end_s(lease_s))
    term = term_s(unread_s, granted_at, lease_s)
    last_write = granted_at + term + MARGIN_S if term else 0.0
    assert not is_vacant(record, last_write - heard_at, others_lease_s)
    assert heard_at + unguarded_s(record, others_lease_s) > last_write


@given(lease_s=LEASES, unread=st.floats(0, 1), unsaid=st.floats(0, 1))
def test_a_driver_that_reads_and_writes_in_time_has_leases_of_full_length(
    lease_s: float, unread: float, unsaid: float
) -> None:
    look_s = min(LOOK_EVERY_S, lease_s / 2)
    term = term_s(unread * look_s, unsaid * (lease_s + look_s), lease_s)
    assert longest_lease_s(lease_s) - look_s - 1e-9 <= term <= longest_lease_s(lease_s)
