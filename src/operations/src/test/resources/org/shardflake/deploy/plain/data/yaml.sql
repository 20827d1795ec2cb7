-- c
INSERT INTO yaml VALUES (9, 'd');
