"""Thread: the same conversation, whatever the order, whatever is missing.

Two layers. Hard edges (ids) group messages by themselves, in any order. Soft edges are guesses: a reply that
lost its headers gets one parent, chosen from the stored set by (date, id), never by arrival, and replaced when
a better one comes. `place` files messages in the index and says which threads changed; `settle` says, for one
thread, what its records are, how they hang together, and what the thread is called.
"""

from stages.thread.node import make_node
from stages.thread.place import place, withdraw
from stages.thread.settle import Conversation, ThreadRecord, settle

VERSION = "2"

__all__ = ["VERSION", "Conversation", "ThreadRecord", "make_node", "place", "settle", "withdraw"]
