"""Whether a reply and an earlier message can be of one exchange, by their people."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from models.addresses import domain_of, is_under
from models.thread import Node
from stages.thread.config import ThreadPolicy


class Meeting(IntEnum):
    """How well the people of a reply fit an earlier message; the better wins."""

    NONE = 0
    LOOSE = 1  # somebody is in both: needs a quote
    SHARED = 2  # one side of the exchange and somebody beside
    DIRECT = 3  # answers the sender, by somebody who was written to


def meet(child: Node, node: Node, policy: ThreadPolicy) -> Meeting:
    """Return how the people of a reply and of an earlier message fit together.

    One subject often goes to several customers, one by one: that the company, or a mailbox that everybody
    writes to, takes part in both is not enough.
    """
    if not child.sender or not node.sender:
        return Meeting.NONE
    ours, theirs = set(child.people), set(node.people)
    if child.forward and not _stays(child, ours, theirs, policy):
        return Meeting.NONE
    shared = (ours & theirs) - {child.sender, node.sender}
    if child.sender == node.sender:
        ours.discard(child.sender)
        theirs.discard(child.sender)
        nested = bool(shared) and (ours <= theirs or theirs <= ours)
        fit = Meeting.SHARED if nested else Meeting.LOOSE if shared or child.forward else Meeting.NONE
    else:
        answers, asked = node.sender in ours, child.sender in theirs
        if answers and not asked and _is_colleague(child, theirs - {node.sender}, policy):
            shared.add(child.sender)  # the one who answers for a shared mailbox
        same_list = child.list_key is not None and child.list_key == node.list_key
        if answers and asked:
            fit = Meeting.DIRECT
        elif (
            ((answers or asked) and shared)
            or (asked and _passes_to_own(child, node, ours, policy))
            or same_list
        ):
            fit = Meeting.SHARED
        else:
            fit = Meeting.LOOSE if answers or asked or shared else Meeting.NONE
        if same_list:
            return fit
    if fit is not Meeting.NONE and _other_customer(child, node, policy):
        return Meeting.NONE if policy.company_domains else Meeting.LOOSE
    return fit


def _is_colleague(child: Node, asked: set[str], policy: ThreadPolicy) -> bool:
    home = domain_of(child.sender)
    return bool(home) and not policy.is_free_mail(home) and any(domain_of(one) == home for one in asked)


def _passes_to_own(child: Node, node: Node, ours: set[str], policy: ThreadPolicy) -> bool:
    """Return whether a reply goes on among colleagues alone, or to colleagues of whom it answers."""
    receivers = {domain_of(one) for one in ours - {child.sender}}
    home, other = domain_of(child.sender), domain_of(node.sender)
    if receivers == {home}:
        return not policy.is_free_mail(home)
    return other in receivers and other != home and not policy.is_free_mail(other)


def _stays(child: Node, ours: set[str], theirs: set[str], policy: ThreadPolicy) -> bool:
    """Return whether a forward stays in the exchange: with somebody who took part, or among colleagues of those."""
    receivers = ours - {child.sender}
    if receivers & theirs:
        return True
    known = {domain_of(one) for one in (child.sender, *theirs)}
    homes = {domain_of(one) for one in receivers}
    return all(
        is_under(home, policy.company_domains) or (home in known and not policy.is_free_mail(home))
        for home in homes
    )


def _other_customer(child: Node, node: Node, policy: ThreadPolicy) -> bool:
    """Return whether both have people outside the company and none of these are of one domain.

    Where no company is named, it is the domains of those who take part in both.
    """
    ours, theirs = set(child.people), set(node.people)
    company = set(policy.company_domains)
    if not company:
        company = {home for one in ours & theirs if not policy.is_free_mail(home := domain_of(one))}
    one, other = _outside(ours, company, policy), _outside(theirs, company, policy)
    return bool(one and other and not one & other)


def _outside(people: Iterable[str], company: set[str], policy: ThreadPolicy) -> set[str]:
    """Return the domains of people outside the company; of private mail boxes the addresses."""
    found = set()
    for email in people:
        domain = domain_of(email)
        if not is_under(domain, company):
            found.add(email if policy.is_free_mail(domain) else domain)
    return found
