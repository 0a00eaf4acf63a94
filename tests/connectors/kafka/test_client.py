from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from confluent_kafka import KafkaError

from stream_maxloss_connectors.kafka.client import ClientErrors

PROJECT = Path(__file__).parents[3]


def test_reason_of_an_outage_is_kept_before_its_summary():
    errors = ClientErrors({"sasl.password": "hunter2"})
    errors(KafkaError(KafkaError._TRANSPORT, "connection refused for hunter2"))
    errors(KafkaError(KafkaError._ALL_BROKERS_DOWN, "all brokers are down"))
    assert (errors.last, errors.fatal) == ("connection refused for ***", "")
    assert "hunter2" not in repr(errors)


def test_refused_login_is_fatal():
    errors = ClientErrors({})
    errors(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    assert errors.fatal == "wrong password"


def test_importing_the_package_does_not_load_the_client():
    program = "import sys, stream_maxloss_connectors.kafka; sys.exit('confluent_kafka' in sys.modules)"
    environment = {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'connectors'}"}
    assert subprocess.run([sys.executable, "-c", program], env=environment, timeout=60).returncode == 0
