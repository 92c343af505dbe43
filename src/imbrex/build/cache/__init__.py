"""The on-disk cache: built objects under the hash of all that made them, and recipes that lead to them.

trust    who else could change what lies at a path
place    where caches lie, and what is said of one that cannot be used
entry    one object: a directory of files with a manifest
total    how much a cache holds, without listing it
private  directories of builds, and entries that no cache would take
digest   keys
reader   what is read of a cache: this user's, or one that is shared
writer   what is changed in this user's
store    `Cache`: found, or built and kept
"""

from imbrex.build.cache.digest import digest, source_parts
from imbrex.build.cache.entry import entry_bytes
from imbrex.build.cache.location import CacheWarning, cache_directory
from imbrex.build.cache.private import is_private
from imbrex.build.cache.reader import Json
from imbrex.build.cache.store import Cache, Stored
from imbrex.build.cache.writer import Entry

__all__ = [
    "Cache",
    "CacheWarning",
    "Entry",
    "Json",
    "Stored",
    "cache_directory",
    "digest",
    "entry_bytes",
    "is_private",
    "source_parts",
]
