"""The modules of the built-in tools, in the order in which they are listed; loaded by the same hook as a user's."""

MODULES = (
    "tools.calculator",
    "tools.current_time",
    "tools.convert_time",
    "tools.date_add",
    "tools.count_characters",
    "tools.get_weather",
    "tools.get_attraction",
    "tools.web_search",
    "tools.fetch_url",
    "tools.python_executor",
    "tools.sql_query",
    "tools.read_file",
    "tools.list_files",
    "tools.note",
    "tools.recall",
    "tools.ask_person",
)
