"""Machines in namespaces of their own reach each other, and are gone afterwards; else it is said why not."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from tests.cluster import networks
from tests.cluster.networks import network


def spaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


def test_each_machine_has_an_address_of_its_own_or_it_is_said_why_not(capfd: pytest.CaptureFixture[str]) -> None:
    with network("one", "two") as machines:
        if machines.shared_because:
            assert machines.shared_because in capfd.readouterr().err
            assert set(machines.addresses.values()) == {"127.0.0.1"}
            return
        assert len({machines.driver, *machines.addresses.values()}) == 3
        names = [machines.prefixes[machine][-1] for machine in ("one", "two")]
        assert all(name in spaces() for name in names)
        shown = machines.command("two", "ip", "-4", "-o", "address")
        inside = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
        assert machines.addresses["two"] in inside and machines.addresses["one"] not in inside
    assert not any(name in spaces() for name in names)


@pytest.mark.parametrize(
    ("names", "why"), [({"geteuid": lambda: 1000}, "only root"), ({}, "iproute2 is not installed")]
)
def test_loopback_where_no_namespaces_can_be_made(
    names: dict[str, object], why: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name, value in names.items():
        monkeypatch.setattr(os, name, value)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with network("one", "two") as machines:
        assert why in machines.shared_because
        assert machines.command("one", "java") == ["java"]
    assert why in capfd.readouterr().err


def test_what_was_made_is_removed_where_the_rest_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_: networks.Network) -> None:
        raise networks.NoNamespacesError("a wall")

    monkeypatch.setattr(networks, "_reachable", unreachable)
    made: list[str] = []
    ip = networks._ip

    def noted(*arguments: str) -> str:
        made.extend(arguments[2:3] if arguments[:2] == ("netns", "add") else ())
        return ip(*arguments)

    monkeypatch.setattr(networks, "_ip", noted)
    with network("one", "two") as machines:
        assert machines.addresses["one"] == "127.0.0.1"
    if made:
        assert not any(name in spaces() for name in made)
