from pages import chromium
from small_lab import dcqcn_lab, start_flow

__all__ = ["chromium", "dcqcn_lab", "start_flow"]
