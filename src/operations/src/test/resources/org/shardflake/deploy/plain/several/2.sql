INSERT INTO qualified (id) VALUES (30); INSERT INTO qualified (id) VALUES (31);
