from pages import chromium, running_chromium
from small_lab import dcqcn_lab, start_flow

__all__ = ["chromium", "dcqcn_lab", "running_chromium", "start_flow"]
