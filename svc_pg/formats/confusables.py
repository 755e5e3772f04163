"""Letters that look like those of ASCII: the Latin, Cyrillic, Greek and Armenian ones of Unicode's ``confusables.txt``.

The file is that of Unicode Technical Standard 39,
https://www.unicode.org/Public/security/latest/confusablesSummary.txt. Left out are letters that a compatibility
decomposition turns into ASCII anyway, for example those of full width, other scripts, and look-alikes of letters beyond
ASCII.
"""
# ruff: noqa: RUF001 # such letters are the content

from typing import Final

_LIKE: Final = {
    "a": "ɑαа",
    "b": "ƄЬ",
    "c": "сᴄ",
    "d": "ԁ",
    "e": "еҽꬲ",
    "f": "քẝꞙꬵ",
    "g": "ƍɡցᶃ",
    "h": "һհ",
    "i": "ıɩɪιіӏꙇ",
    "j": "ϳј",
    "l": "ƖǀΙІӀ",
    "n": "ոռ",
    "o": "οσоօᴏᴑꬽ",
    "p": "ρр",
    "q": "ԛգզ",
    "r": "гᴦꭇꭈ",
    "s": "ƽѕꜱ",
    "u": "ʋυսᴜꞟꭎꭒ",
    "v": "νѵᴠ",
    "w": "ɯѡԝաᴡ",
    "x": "х",
    "y": "ɣʏγуүᶌỿꭚ",
    "z": "ᴢ",
    "A": "ΑА",
    "B": "ΒВꞴ",
    "C": "С",
    "E": "ΕЕ",
    "F": "ϜꞘ",
    "G": "Ԍ",
    "H": "ΗН",
    "J": "ͿЈꞲ",
    "K": "ΚК",
    "M": "ΜϺМ",
    "N": "Ν",
    "O": "ΟОՕ",
    "P": "ΡР",
    "R": "Ʀ",
    "S": "ЅՏ",
    "T": "ΤТ",
    "U": "Ս",
    "V": "Ѵ",
    "W": "Ԝ",
    "X": "ΧХꞳ",
    "Y": "ΥУҮ",
    "Z": "Ζ",
    "2": "ƧꙄꝚ",
    "3": "ƷȜЗӠꝪꞫ",
    "5": "Ƽ",
    "6": "б",
    "8": "Ȣȣ",
    "9": "Ꝯ",
    "-": "‐‑‒–⁃−",
    "'": "‘’‛′ʹʻʼʽˈ`",
    '"': "“”‟",
}
_AMONG_ASCII: Final = {"0": "O", "1": "l", "I": "l", "|": "l", "m": "rn"}
ASCII_OF: Final = str.maketrans({other: letter for letter, others in _LIKE.items() for other in others})
"""For ``str.translate``: replaces each letter that looks like one of ASCII by that."""
PROTOTYPES: Final = str.maketrans(_AMONG_ASCII)
"""For ``str.translate``: replaces letters of ASCII that look like each other by the same one."""
