"""A file that fails to load, with an error that cannot be read."""

from unreadable import Unreadable

graph = None

raise Unreadable
