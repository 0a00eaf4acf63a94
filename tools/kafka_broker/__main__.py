"""Run a local broker from the command line."""

from __future__ import annotations

import argparse
import signal
import sys

from stream_maxloss.errors import SourceError
from tools.kafka_broker.broker import LocalBroker
from tools.kafka_broker.download import fetch_kafka


def main(arguments: list[str] | None = None) -> int:
    """Run a broker until Ctrl-C; its address is the one line on stdout."""
    parser = argparse.ArgumentParser(prog="kafka_broker", description="Run a local Kafka broker until Ctrl-C.")
    parser.add_argument("--port", type=int, default=9092, help="port to listen on; 0 takes a free one (default: 9092)")
    options = parser.parse_args(arguments)
    # Also for Ctrl-C: a shell has its background jobs ignore it, and Python then leaves it so.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        with LocalBroker(fetch_kafka(), options.port, auto_create_topics=True) as broker:
            sys.stdout.write(broker.bootstrap + "\n")
            sys.stdout.flush()
            signal.pause()
    except SourceError as error:
        sys.stderr.write(f"{error}\n")
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
