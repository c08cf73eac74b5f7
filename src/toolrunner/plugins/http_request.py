"""Requests over HTTP, through the network the sandbox grants."""

import json
from typing import Literal, Optional
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

NETWORK = True
EFFECT = "write"

LIMIT = 512 * 1024


def http_request(
    url: str,
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET",
    query: Optional[dict[str, str]] = None,
    headers: Optional[dict[str, str]] = None,
    body: Optional[str] = None,
    json_body: Optional[dict] = None,
    timeout_seconds: float = 20,
) -> dict:
    """Sends an HTTP request and returns status, headers and body; an answer in JSON is returned parsed, as `json`.

    Args:
        url: Address to ask, beginning with http:// or https://.
        method: HTTP method.
        query: Parameters to add to the address.
        headers: Request headers.
        body: Request body as text.
        json_body: Request body as JSON, instead of `body`.
        timeout_seconds: How long to wait, at most 25.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("url must begin with http:// or https://")
    if query:
        url += ("&" if urlsplit(url).query else "?") + urlencode(query)
    given = dict(headers or {})
    data = None if body is None else body.encode()
    if json_body is not None:
        data = json.dumps(json_body).encode()
        given.setdefault("Content-Type", "application/json")
    request = Request(url, data=data, headers=given, method=method)
    try:
        answer = urlopen(request, timeout=min(timeout_seconds, 25))
    except HTTPError as refusal:
        answer = refusal
    with answer:
        content = answer.read(LIMIT + 1)
        found = {"status": answer.status, "url": answer.url, "headers": dict(answer.headers.items())}
    text = content[:LIMIT].decode(answer.headers.get_content_charset() or "utf-8", "replace")
    if len(content) > LIMIT:
        return {**found, "body": text, "truncated": True}
    if answer.headers.get_content_subtype().endswith("json"):
        try:
            return {**found, "json": json.loads(text)}
        except ValueError:
            pass
    return {**found, "body": text}
