"""How mail programs write an answer: the quote they put under it, as text and as HTML.

Made in the shapes of the programs, in words of our own. Each function takes what the sender wrote and the mail
that is answered (None: nothing is) and returns a body.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from html import escape
from typing import NamedTuple

MAX_QUOTED = 60_000  # characters of an earlier mail that are quoted


class Earlier(NamedTuple):
    """The mail that is answered, as a quote introduces it."""

    name: str
    email: str
    to: str
    date: str
    time: str
    subject: str
    text: str
    html: str
    words: dict[str, list[str] | str]


def _attribution(earlier: Earlier) -> str:
    return str(earlier.words["attribution"]).format(
        name=earlier.name, email=earlier.email, date=earlier.date, time=earlier.time
    )


def _marked(text: str) -> str:
    return "".join(
        f"> {line}\n" if line[:1] != ">" else f">{line}\n" for line in text[:MAX_QUOTED].splitlines()
    )


def _block(earlier: Earlier) -> list[tuple[str, str]]:
    values = (
        f"{earlier.name} <{earlier.email}>",
        f"{earlier.date} {earlier.time}",
        earlier.to,
        earlier.subject,
    )
    return list(zip(earlier.words["block"], values, strict=True))


def _lines(text: str, tag: str, css: str = "") -> str:
    opening = f'<{tag} class="{css}">' if css else f"<{tag}>"
    rows = (escape(line, quote=False) or "<br>" for line in text.splitlines())
    return "".join(f"{opening}{row}</{tag}>\n" for row in rows)


def gmail(own: str, signature: str, earlier: Earlier | None) -> tuple[str, str]:
    """Return text and HTML in the shape of Gmail's web client."""
    text = f"{own}\n\n{signature}\n"
    html = f'<div dir="ltr">{_lines(text, "div")}</div>'
    if earlier:
        head = _attribution(earlier)
        text += f"\n{head}\n\n{_marked(earlier.text)}"
        html += (
            f'<br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">'
            f'{escape(head)}<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;'
            f'border-left:1px solid rgb(204,204,204);padding-left:1ex">{earlier.html[:MAX_QUOTED]}</blockquote></div>'
        )
    return text, html


_WORD_STYLE = (
    "<style><!-- @font-face {font-family:Calibri; panose-1:2 15 5 2 2 2 4 3 2 4;} p.MsoNormal, li.MsoNormal, "
    'div.MsoNormal {margin:0cm; font-size:11.0pt; font-family:"Calibri",sans-serif;} a:link, span.MsoHyperlink '
    '{color:#0563C1; text-decoration:underline;} span.E-MailFormatvorlage17 {font-family:"Calibri",sans-serif; '
    "color:windowtext;} .MsoChpDefault {font-size:10.0pt;} @page WordSection1 {size:612.0pt 792.0pt; margin:70.85pt "
    "70.85pt 2.0cm 70.85pt;} div.WordSection1 {page:WordSection1;} --></style>"
)


def outlook(own: str, signature: str, earlier: Earlier | None) -> tuple[str, str]:
    """Return text and HTML in the shape of Outlook for the desktop: a header block, the earlier mail bare."""
    text = f"{own}\n\n{signature}\n"
    html = f'<div class="WordSection1">{_lines(text, "p", "MsoNormal")}'
    if earlier:
        rows = _block(earlier)
        text += f"\n{earlier.words['original']}\n" + "".join(f"{key}: {value}\n" for key, value in rows)
        text += f"\n{earlier.text[:MAX_QUOTED]}"
        head = "<br>".join(f"<b>{escape(key)}:</b> {escape(value)}" for key, value in rows)
        html += (
            '<div><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm">'
            f'<p class="MsoNormal">{head}</p></div></div>{earlier.html[:MAX_QUOTED]}'
        )
    return text, f"<head>{_WORD_STYLE}</head>{html}</div>"


def apple(own: str, signature: str, earlier: Earlier | None) -> tuple[str, str]:
    """Return text and HTML in the shape of Apple's mail program, with its device line on phones."""
    text = f"{own}\n\n{signature}\n"
    html = _lines(text, "div")
    if earlier:
        head = _attribution(earlier)
        text += f"\n> {head}\n> \n{_marked(earlier.text)}"
        quoted = f"<div>{escape(head)}</div><br>{earlier.html[:MAX_QUOTED]}"
        html += f'<div><br><blockquote type="cite">{quoted}</blockquote></div>'
    return text, html


def thunderbird(own: str, signature: str, earlier: Earlier | None) -> tuple[str, str]:
    """Return text and HTML in the shape of Thunderbird: wrapped at 72, a delimiter before the signature."""
    wrapped = "\n".join(textwrap.fill(line, 72) for line in own.splitlines())
    text, html = "", ""
    if earlier:
        head = _attribution(earlier)
        text = f"{head}\n{_marked(earlier.text)}\n"
        html = (
            f'<div class="moz-cite-prefix">{escape(head)}<br></div>'
            f'<blockquote type="cite" cite="mid:{escape(earlier.email)}">{earlier.html[:MAX_QUOTED]}</blockquote>'
        )
    text += f"{wrapped}\n\n-- \n{signature}\n"
    return text, html + _lines(
        own, "p"
    ) + f'<pre class="moz-signature" cols="72">-- \n{escape(signature)}</pre>'


def qq(own: str, signature: str, earlier: Earlier | None) -> tuple[str, str]:
    """Return text and HTML in the shape of QQ Mail and Foxmail."""
    text, html = f"{own}\n\n\n{signature}\n", _lines(own, "div") + f"<div>{escape(signature)}</div>"
    if earlier:
        rows = _block(earlier)
        text += f"\n{earlier.words['original']}\n" + "".join(f'{key}: "{value}";\n' for key, value in rows)
        text += f"\n{earlier.text[:MAX_QUOTED]}"
        head = "".join(f"<div><b>{escape(key)}:</b>&nbsp;{escape(value)};</div>" for key, value in rows)
        html += (
            '<div style="font-size: 12px;font-family: Arial Narrow;padding:2px 0 2px 0;">'
            f'{escape(str(earlier.words["original"]))}</div><div style="font-size: 12px;background:#efefef;'
            f'padding:8px;">{head}</div><div><br></div>{earlier.html[:MAX_QUOTED]}'
        )
    return text, html


CLIENTS: dict[str, Callable[[str, str, Earlier | None], tuple[str, str]]] = {
    "gmail": gmail,
    "outlook": outlook,
    "apple": apple,
    "thunderbird": thunderbird,
    "qq": qq,
}
