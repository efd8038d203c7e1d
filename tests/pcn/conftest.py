from small_lab import dcqcn_lab, start_flow

__all__ = ["dcqcn_lab", "start_flow"]
