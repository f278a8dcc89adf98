"""The clock of the processor: as the system states it, or unknown, but never an error."""

import psutil

from dualgap.experiments.workers import machine


def test_the_frequency_is_that_of_the_core_else_of_all_else_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "frequency", lambda: 2000.0)
    assert machine.core_frequency(tmp_path) == 2000.0
    for text, megahertz in (("3400500\n", 3400.5), ("unknown", 2000.0)):
        for core in range(psutil.cpu_count()):
            folder = tmp_path / f"sys/devices/system/cpu/cpu{core}/cpufreq"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "scaling_cur_freq").write_text(text)
        assert machine.core_frequency(tmp_path) == megahertz
    monkeypatch.delattr(psutil.Process, "cpu_num", raising=False)  # as on other systems
    assert machine.core_frequency(tmp_path) == 2000.0


def test_a_system_without_frequencies_has_none(monkeypatch):
    monkeypatch.setattr(psutil, "cpu_freq", lambda: None)
    assert machine.frequency() is None


def test_throttling_is_counted_over_cores_and_packages(tmp_path):
    assert machine.throttle_events(tmp_path) is None
    for core, counts in enumerate(((2, 3), (0, 3), ("", "none"))):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{core}/thermal_throttle"
        folder.mkdir(parents=True)
        for kind, count in zip(("core", "package"), counts, strict=True):
            (folder / f"{kind}_throttle_count").write_text(f"{count}\n")
            (folder / f"{kind}_throttle_total_time_ms").write_text("700\n")
    assert machine.throttle_events(tmp_path) == 8
