"""Why flows of a kept run were slow: the run again, with logs, and what follows from them.

again.py   the plan of a kept result, and its run with logs
lines.py   what ports sent: by flow, and what was fair
(PAUSEs, and the ports that they come from, are in pcn.experiments.data.pauses)
flow_log.py  what is logged of a flow
flow.py    a flow: parts, hops, the busiest port of its path, marks, roots, why
port.py    a port, and a PAUSE
job.py     flows that wait for each other
marks.py   why packets have marks, or none
over_time.py  a flow over time
words.py   all of it as text;  page.py: flows as a page;  keep.py: in the result's folder
"""
