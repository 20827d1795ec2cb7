-- grün
INSERT INTO plain (ab) VALUES ('grün')
@@
INSERT INTO plain (ab) VALUES ('@; x')
@@
