"""What tests of pages ask of a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

WIDE, PHONE = (1280, 900), (390, 844)


def entries(browser: Any, kind: str) -> list[dict[str, Any]]:
    """What the browser has logged since it was last asked."""
    logged: list[dict[str, Any]] = browser.get_log(kind)
    return logged


def resize(browser: Chrome, width: int, height: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
