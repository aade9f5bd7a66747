#!/bin/sh
# Makes Temporal's two databases, or brings them to this version's schema. Safe to repeat. Runs in the image
# temporalio/admin-tools, which brings the tool and the schema.
set -eu
SQL_PASSWORD=$(cat /run/secrets/postgres-password)
export SQL_PASSWORD

for database in temporal temporal_visibility; do
  case $database in
    temporal) schema=temporal ;;
    *) schema=visibility ;;
  esac
  sql() { temporal-sql-tool --plugin postgres12 --ep postgres --port 5432 --user evenkeel --db "$database" "$@"; }
  sql create
  sql setup-schema -v 0.0
  sql update-schema -d "/etc/temporal/schema/postgresql/v12/$schema/versioned"
done
