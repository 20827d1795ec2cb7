SELECT name FROM person WHERE name <> ';'
