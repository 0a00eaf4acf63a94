"""A model as a service: predict and learn over HTTP, a live page, exactly once.

Needs the extra `serve`. Nothing heavy loads with this package.
"""

from __future__ import annotations
