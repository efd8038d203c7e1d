"""Traffic of many flows on any network of the catalog: the experiment that is a user's own (`pcn
run traffic`)."""
