#!/bin/sh
# Runs once, when PostgreSQL initialises its data directory: creates the application's database and its role, which is
# not a superuser. The superuser's password is removed, so that it can be used from inside the container only.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" --username postgres --dbname postgres <<'SQL'
CREATE ROLE stepmill LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE stepmill OWNER stepmill;
ALTER ROLE postgres PASSWORD NULL;
SQL
