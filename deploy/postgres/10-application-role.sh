#!/bin/sh
# Runs once, when PostgreSQL sets up its directory: the application's own role, which is no superuser, and its database.
# The superuser keeps no password, so that it can be used from inside the container only.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" --username postgres --dbname postgres <<'SQL'
CREATE ROLE stepmill LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE stepmill OWNER stepmill;
ALTER ROLE postgres PASSWORD NULL;
SQL
